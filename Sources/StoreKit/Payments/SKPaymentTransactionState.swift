/// The state of a transaction.
public enum SKPaymentTransactionState: Int, Sendable {
  /// Sent to the seller, not answered.
  case purchasing = 0
  /// Bought; deliver the content, then finish.
  case purchased = 1
  /// Refused or failed; finish it.
  case failed = 2
  /// From the account's history; deliver the content, then finish.
  case restored = 3
  /// Somebody else decides later; do not finish it.
  case deferred = 4
}
