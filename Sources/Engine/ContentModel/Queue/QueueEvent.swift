/// Something that happened to the queue: a wish of its user, or the end of an effect.
package enum QueueEvent: Hashable, Sendable {
  /// The engine runs and somebody observes it.
  case launched
  case paymentAdded(transaction: String, Payment)
  /// A payment that could not be journaled when it was added is journaled with this event.
  case paymentRetried(transaction: String)
  /// A purchase from the account's history, or an update of what is installed.
  case restored(
    transaction: String, original: Grant, contents: [ContentOffer], purpose: RestorePurpose)
  case purchaseAnswered(transaction: String, PurchaseOutcome)
  /// A grant that no payment of this queue waits for: an interrupted purchase that was mended, a
  /// promoted one that was paid elsewhere.
  case granted(transaction: String, Grant, contents: [ContentOffer])
  /// `request` names the restore in everything that is said of it.
  case restoreRequested(request: String, account: String?)
  /// A purchase of the history could not be kept: the restore that is under way fails at its end.
  case restoreLost(ContentError)
  /// Every purchase of the history was handed in by `restored`, or the rest cannot be had.
  case restoreEnded(request: String, ContentError?)
  case startRequested(downloads: [String])
  case pauseRequested(downloads: [String])
  case resumeRequested(downloads: [String])
  case cancelRequested(downloads: [String])
  case finishRequested(transaction: String)
  /// The seller knows that the transaction was finished.
  case finishAcknowledged(transaction: String)
  /// Every event of the seller up to `cursor` is journaled or was reported.
  case storeEventsHandled(cursor: String)
  /// The catalog has the content of a download that had a problem before.
  case contentResolved(download: String, ContentOffer)
  case workEnded(download: String, WorkResult)
  case activeLimitChanged(Int)
  case priorityChanged(downloads: [String], Int)
}

/// Why a purchase comes again.
package enum RestorePurpose: Hashable, Codable, Sendable {
  /// Asked for by a restore; a purchase that is still unfinished is passed over, one that was
  /// restored and is unfinished is reported again.
  case history
  /// An update of what is installed; `switching` says whether it becomes current.
  case update(switching: Bool)
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
  /// Ask the seller for the account's history; it comes back as `restored` and `restoreEnded`.
  case restore(request: String, account: String?)
  /// Tell the seller that a purchase was finished; its answer comes back as `finishAcknowledged`.
  case notifyFinished(FinishNotice)
  /// Fetch and install; the end comes back as `workEnded`.
  case startWork(DownloadRecord)
  /// Make the work on it end soon.
  case stopWork(download: String)
  /// Give its transfers this priority.
  case setPriority(download: String, Int)
  /// Remove what was fetched for it.
  case discardStaging(download: String)
  /// All that is unfinished, transactions and then downloads.
  case reportEverything
  case reportTransactions([String])
  case reportDownloads([String])
  /// These are gone; the records say how they stood at last.
  case reportRemoved([TransactionRecord])
  /// All of the history was delivered, or it failed; after everything that was delivered before.
  case reportRestoreEnded(RestoreEnd)
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

/// How a restore ended, or how far it came.
package struct RestoreEnd: Hashable, Sendable {
  package let request: String
  /// What it found, in its order, those included that an earlier restore had found.
  package var transactions: [String] = []
  /// Why the rest cannot be had, or why one of them is missing.
  package var error: ContentError?

  package init(request: String) { self.request = request }
}
