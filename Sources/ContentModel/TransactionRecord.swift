/// The state of a transaction, numbered as in StoreKit.
public enum TransactionState: Int, Codable, Sendable, CaseIterable {
  /// Sent to the seller, not answered. Next: purchased, failed, deferred.
  case purchasing = 0
  /// Bought; deliver, then finish. Next: removed.
  case purchased = 1
  /// Refused or failed; finish it. Next: removed.
  case failed = 2
  /// From the account's history, or an update of what is installed. Next: removed.
  case restored = 3
  /// Somebody else decides later. Next: purchased, failed.
  case deferred = 4
}

/// The state of a download, numbered as in StoreKit.
public enum DownloadState: Int, Codable, Sendable, CaseIterable {
  /// Not started, or started and waiting for its turn. Next: active, paused, cancelled.
  case waiting = 0
  /// Being fetched and installed. Next: finished, failed, paused, cancelled, waiting.
  case active = 1
  /// Paused by the user; keeps its bytes. Next: waiting, active, cancelled, finished.
  case paused = 2
  /// Its content is installed and usable. Last.
  case finished = 3
  /// Ended by an error; keeps its bytes. Next: waiting, active, cancelled.
  case failed = 4
  /// Cancelled by the user; its bytes are dropped. Next: waiting, active.
  case cancelled = 5
}

/// A transaction as the journal keeps it.
package struct TransactionRecord: Hashable, Codable, Sendable {
  /// The queue's own name for it, unique in a library.
  package let id: String
  /// Where it stands in the queue; later ones have larger numbers.
  package let sequence: Int
  package let payment: Payment
  package var state: TransactionState
  /// What the seller granted; only when purchased or restored.
  package var grant: Grant?
  /// The purchase that is restored; only when restored.
  package var original: Grant?
  /// Only when failed.
  package var error: ContentError?
  package var downloads: [DownloadRecord] = []

  package init(
    id: String, sequence: Int, payment: Payment, state: TransactionState, grant: Grant? = nil,
    original: Grant? = nil, error: ContentError? = nil, downloads: [DownloadRecord] = []
  ) {
    self.id = id
    self.sequence = sequence
    self.payment = payment
    self.state = state
    self.grant = grant
    self.original = original
    self.error = error
    self.downloads = downloads
  }
}

/// A download as the journal keeps it.
package struct DownloadRecord: Hashable, Codable, Sendable {
  /// Unique in a library, and its staging folder's name.
  package let id: String
  package let offer: ContentOffer
  package var state: DownloadState = .waiting
  /// Whether it was asked to start; a waiting one that was not stays where it is.
  package var isRequested = false
  /// Only when failed.
  package var error: ContentError?

  package init(
    id: String, offer: ContentOffer, state: DownloadState = .waiting, isRequested: Bool = false,
    error: ContentError? = nil
  ) {
    self.id = id
    self.offer = offer
    self.state = state
    self.isRequested = isRequested
    self.error = error
  }
}

/// The durable record of the queue; kept by the journal.
///
/// Durable when a call returns; throws `journalFailed` or `diskFull`, and then nothing changed.
package protocol QueueJournal: Sendable {
  /// All unfinished transactions, in their order.
  func transactions() throws -> [TransactionRecord]
  /// Carries out all changes or none.
  func commit(_ changes: [JournalChange]) throws
}

/// One change of the queue's durable record.
package enum JournalChange: Hashable, Sendable {
  case save(TransactionRecord)
  /// Takes the transaction out and remembers that it was finished, once.
  case finish(TransactionRecord)
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
