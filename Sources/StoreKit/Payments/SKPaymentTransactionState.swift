/// The state of a transaction.
public enum SKPaymentTransactionState: Int, Sendable {
  /// Sent to the seller, without outcome.
  case purchasing = 0
  /// Purchased; deliver the content, then finish.
  case purchased = 1
  /// Refused or failed; finish it.
  case failed = 2
  /// Restored from the account's history; deliver the content, then finish.
  case restored = 3
  /// Waiting for approval; do not finish it.
  case deferred = 4
}
