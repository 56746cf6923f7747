/// The durable record of the queue; kept by the journal.
///
/// Durable when a call returns; throws `journalFailed` or `diskFull`, and then nothing changed.
package protocol QueueJournal: Sendable {
  /// All unfinished transactions, without their receipts.
  func readQueue() throws -> JournaledQueue
  /// The seller's receipt for an unfinished transaction; nil when there is none.
  func receipt(of transaction: String) throws -> String?
  /// Carries out all changes or none.
  ///
  /// Throws `answerMismatch` for a number that answered another order, `transactionExists` for a
  /// new record with a known identifier, and `UncertainCommit` if a crash may bring the changes
  /// back.
  func commit(_ changes: [JournalChange]) throws
  /// Removes every record that cannot be read; returns what each one was.
  func removeUnreadable() throws -> [ContentError]
}

extension QueueJournal {
  /// Every record can be read.
  package func removeUnreadable() throws -> [ContentError] { [] }

  /// All unfinished transactions that can be read, in their order, without their receipts.
  package func transactions() throws -> [TransactionRecord] { try readQueue().transactions }
}

/// The unfinished transactions in a journal.
package struct JournaledQueue: Sendable {
  /// Those that can be read, in their order.
  package var transactions: [TransactionRecord]
  /// Why others cannot be read, each naming its transaction; their rows stay in the journal.
  package var unreadable: [ContentError]
  /// The highest sequence number, that of unreadable ones included; 0 for none.
  package var lastSequence: Int
  /// Finished purchases that the seller has not acknowledged.
  package var notices: [FinishNotice]
  /// The position in the seller's events; nil at first.
  package var storeCursor: String?

  package init(
    transactions: [TransactionRecord] = [], unreadable: [ContentError] = [], lastSequence: Int = 0,
    notices: [FinishNotice] = [], storeCursor: String? = nil
  ) {
    self.transactions = transactions
    self.unreadable = unreadable
    self.lastSequence = lastSequence
    self.notices = notices
    self.storeCursor = storeCursor
  }
}

/// A commit failed so that its outcome is not known: its changes cannot be seen now, and a start
/// after a crash may find them.
///
/// The next commit that writes something decides it: then they are gone.
package struct UncertainCommit: Error {
  /// Why the commit failed.
  package let error: ContentError

  package init(_ error: ContentError) { self.error = error }
}

/// One change of the queue's durable record.
package enum JournalChange: Hashable, Sendable {
  /// Saves a record whose identifier is new: no transaction has had it, a finished one neither.
  case add(TransactionRecord)
  /// A receipt that the record does not carry stays as it was journaled.
  case save(TransactionRecord)
  /// Takes the transaction out and remembers that it was finished, once.
  case finish(TransactionRecord)
  /// Remembers which transaction's order the seller's number answered; a number answers one only.
  case answer(number: String, transaction: String)
  /// Remembers that the seller is to be told of a finished purchase, until `removeNotice`.
  case addNotice(FinishNotice)
  case removeNotice(transaction: String)
  /// Replaces the position in the seller's events.
  case storeCursor(String)

  /// The record that it saves; nil for other changes.
  package var savedRecord: TransactionRecord? {
    switch self {
    case .add(let record), .save(let record): record
    case .finish, .answer, .addNotice, .removeNotice, .storeCursor: nil
    }
  }
}

/// A finished purchase that the seller is told of.
package struct FinishNotice: Hashable, Sendable {
  package let transaction: String
  /// The seller's number of the purchase.
  package let number: String

  package init(transaction: String, number: String) {
    self.transaction = transaction
    self.number = number
  }
}

/// What is remembered of a transaction that is gone.
package struct FinishedTransaction: Hashable, Sendable {
  package let id: String
  package let productIdentifier: ProductIdentifier
  /// The state it was finished in.
  package let state: TransactionState

  package init(id: String, productIdentifier: ProductIdentifier, state: TransactionState) {
    self.id = id
    self.productIdentifier = productIdentifier
    self.state = state
  }
}
