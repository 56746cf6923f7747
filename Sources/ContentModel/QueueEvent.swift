/// Something that happened to the queue: a wish of its user, or the end of an effect.
package enum QueueEvent: Hashable, Sendable {
  /// The engine runs and somebody observes it.
  case launched
  case paymentAdded(transaction: String, Payment)
  /// A purchase from the account's history, or an update of what is installed.
  case restored(transaction: String, original: Grant, contents: [ContentOffer])
  case purchaseAnswered(transaction: String, PurchaseOutcome)
  case startRequested(downloads: [String])
  case pauseRequested(downloads: [String])
  case resumeRequested(downloads: [String])
  case cancelRequested(downloads: [String])
  case finishRequested(transaction: String)
  case workEnded(download: String, WorkResult)
  case activeLimitChanged(Int)
}

/// How the work on a download ended.
package enum WorkResult: Hashable, Sendable {
  /// Its content is installed, durable, and reachable.
  case installed
  case failed(ContentError)
  /// It ended because it was told to.
  case stopped
}

/// What is to be done because of an event, after the journal has it.
package enum QueueEffect: Hashable, Sendable {
  /// Ask the seller; the answer comes back as `purchaseAnswered`.
  case purchase(transaction: String, Payment)
  /// Fetch and install; the end comes back as `workEnded`.
  case startWork(DownloadRecord)
  /// Make the work on it end soon.
  case stopWork(download: String)
  /// Remove what was fetched for it.
  case discardStaging(download: String)
  case reportTransactions([String])
  case reportDownloads([String])
  /// These are gone; the records say how they stood at last.
  case reportRemoved([TransactionRecord])
  /// What was asked cannot be; nothing changed.
  case refuse(ContentError)
}

/// An event's consequences: first the changes, all or none, then the effects in their order.
package struct QueueDecision: Hashable, Sendable {
  package var changes: [JournalChange] = []
  package var effects: [QueueEffect] = []

  package init(changes: [JournalChange] = [], effects: [QueueEffect] = []) {
    self.changes = changes
    self.effects = effects
  }
}
