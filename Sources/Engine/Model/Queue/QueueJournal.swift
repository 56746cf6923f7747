/// The durable record of the queue; implemented by the journal.
///
/// Changes are durable when a call returns. A call that throws `journalFailed` or `diskFull`
/// changes nothing.
package protocol QueueJournal: Sendable {
  /// Returns the unfinished transactions, without their receipts.
  func readQueue() throws -> JournaledQueue
  /// Returns the receipt of an unfinished transaction; nil if it does not have one.
  func receipt(of transaction: TransactionID) throws -> String?
  /// Applies all changes or none.
  ///
  /// Throws `answerMismatch` if a number belongs to another order, `transactionExists` if a new
  /// record has a known identifier, and `UncertainCommit` if a crash may bring the changes back.
  func commit(_ changes: [JournalChange]) throws
  /// Removes unreadable records; returns an error that describes each.
  func removeUnreadable() throws -> [ContentError]
  /// Returns the accounts of unfinished and finished transactions of `product`; nil is for all.
  func accounts(of product: ProductIdentifier?) throws -> Set<AccountID?>
  /// Returns whether a finished transaction failed, and had the product and account of `payment`.
  func hasFailed(_ transaction: TransactionID, for payment: Payment) throws -> Bool
  /// Returns the revoked products whose contents must still be removed.
  func revokedProducts() throws -> [ProductIdentifier]
  /// Adds `products` to the revoked products, or removes them.
  func setRevoked(_ isRevoked: Bool, _ products: [ProductIdentifier]) throws
  /// Moves pending data to its final place, so that no file changes after the queue is closed.
  func emptyLog()
}

extension QueueJournal {
  /// Returns the readable unfinished transactions in order, without their receipts.
  package func transactions() throws -> [TransactionRecord] { try readQueue().transactions }
}

package struct JournaledQueue: Sendable {
  /// The readable transactions, in order.
  package var transactions: [TransactionRecord] = []
  /// An error for each unreadable record, with its transaction as subject; rows stay in place.
  package var unreadable: [ContentError] = []
  /// The highest sequence number, including unreadable records; 0 for an empty queue.
  package var lastSequence = 0
  /// Finished purchases that the service has not acknowledged.
  package var notices: [FinishNotice] = []
  /// The cursor of the service's events; nil at first.
  package var storeCursor: String?

  package init() {}
}

/// A commit failed with an unknown outcome: after a crash, its changes may reappear.
///
/// Until then, its changes are invisible. The next successful commit discards them.
package struct UncertainCommit: Error {
  package let error: ContentError

  package init(_ error: ContentError) { self.error = error }
}

package enum JournalChange: Hashable, Sendable {
  /// Saves a new record; its identifier must never have been used, even by a finished one.
  case add(TransactionRecord)
  /// Saves a record; if it has no receipt, the journaled receipt is kept.
  case save(TransactionRecord)
  /// Removes the transaction and records once that it was finished.
  case finish(TransactionRecord)
  /// Records the order that a seller's number belongs to; a number belongs to only one.
  case answer(number: String, transaction: TransactionID)
  /// Records a pending notice to the service, until `removeNotice`.
  case addNotice(FinishNotice)
  case removeNotice(transaction: TransactionID)
  /// Replaces the cursor of the service's events.
  case storeCursor(String)

  /// The saved record; nil for other changes.
  package var savedRecord: TransactionRecord? {
    switch self {
    case .add(let record), .save(let record): record
    case .finish, .answer, .addNotice, .removeNotice, .storeCursor: nil
    }
  }
}

/// A finished purchase to report to the service.
package struct FinishNotice: Hashable, Sendable {
  package let transaction: TransactionID
  package let number: String
  /// What was bought, without `simulatesAskToBuy`.
  package let payment: Payment

  package init(transaction: TransactionID, number: String, payment: Payment) {
    self.transaction = transaction
    self.number = number
    self.payment = Payment(
      productIdentifier: payment.productIdentifier, quantity: payment.quantity,
      applicationUsername: payment.applicationUsername)
  }
}

/// The record of a finished transaction; `state` is the one before it was finished.
package typealias FinishedTransaction = (
  id: TransactionID, productIdentifier: ProductIdentifier, state: TransactionState
)
