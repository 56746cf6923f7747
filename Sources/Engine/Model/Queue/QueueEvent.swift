/// An event of the queue: a request of the user, or the result of an effect.
package enum QueueEvent: Hashable, Sendable {
  /// The engine is running and has its first observer.
  case launched
  case paymentAdded(transaction: TransactionID, Payment)
  /// Journals a payment that could not be journaled when it was added.
  case paymentRetried(transaction: TransactionID)
  /// A purchase from the account's history, or an update of installed content.
  case restored(
    transaction: TransactionID, original: Grant, contents: [ContentOffer], purpose: RestorePurpose)
  case purchaseAnswered(transaction: TransactionID, PurchaseOutcome)
  /// A grant without a payment in this queue, such as an interrupted or promoted purchase.
  case granted(transaction: TransactionID, Grant, contents: [ContentOffer])
  /// `request` identifies the restore in its reports.
  case restoreRequested(request: RestoreID, account: AccountID?)
  /// A restored purchase could not be saved, so the running restore will fail at its end.
  case restoreLost(ContentError)
  /// The restore ended; all its purchases were added by `restored`, unless it failed.
  case restoreEnded(request: RestoreID, ContentError?)
  case startRequested(downloads: [DownloadID])
  case pauseRequested(downloads: [DownloadID])
  case resumeRequested(downloads: [DownloadID])
  case cancelRequested(downloads: [DownloadID])
  case finishRequested(transaction: TransactionID)
  /// The service acknowledged that the transaction was finished.
  case finishAcknowledged(transaction: TransactionID)
  /// Every event of the service up to `cursor` is journaled or reported.
  case storeEventsHandled(cursor: String)
  /// The catalog now has the content of a download that had a problem.
  case contentResolved(download: DownloadID, ContentOffer)
  case workEnded(download: DownloadID, WorkResult)
  case activeLimitChanged(Int)
  case priorityChanged(downloads: [DownloadID], Int)
}

package enum RestorePurpose: Hashable, Codable, Sendable {
  /// A restore.
  ///
  /// An unfinished purchase is skipped; an unfinished restored one is reported again.
  case history
  /// An update of installed content; `switching` is whether it becomes current.
  case update(switching: Bool)
}

package enum WorkResult: Hashable, Sendable {
  /// The content is installed and durable.
  case installed
  case failed(ContentError)
  /// The work was stopped on request.
  case stopped
}

/// An action to perform after the changes of an event are journaled.
package enum QueueEffect: Hashable, Sendable {
  /// Sends a purchase to the service, which leads to `purchaseAnswered`.
  case purchase(transaction: TransactionID, Payment)
  /// Requests the account's history, which leads to `restored` and `restoreEnded`.
  case restore(request: RestoreID, account: AccountID?)
  /// Notifies the service of a finished purchase, which leads to `finishAcknowledged`.
  case notifyFinished(FinishNotice)
  /// Fetches and installs, which leads to `workEnded`.
  case startWork(DownloadRecord)
  case stopWork(download: DownloadID)
  case setPriority(download: DownloadID, Int)
  /// Removes its fetched data.
  case discardStaging(download: DownloadID)
  /// Reports everything unfinished: first transactions, then downloads.
  case reportEverything([TransactionRecord])
  /// Reports transactions as they are after the event.
  case reportTransactions([TransactionRecord])
  case reportDownloads([DownloadID], of: [TransactionRecord])
  /// Reports removed transactions with their last state.
  case reportRemoved([TransactionRecord])
  /// Reports the end of a restore, after all its transactions.
  case reportRestoreEnded(RestoreEnd, found: [TransactionRecord])
  /// Reports a refused request, which had no effect.
  case refuse(ContentError)
}

/// The result of an event: changes to commit atomically, then effects to perform in order.
package struct QueueDecision: Hashable, Sendable {
  package var changes: [JournalChange] = []
  package var effects: [QueueEffect] = []
}

/// The result or progress of a restore.
package struct RestoreEnd: Hashable, Sendable {
  package let request: RestoreID
  package let account: AccountID?
  /// The transactions it found, in order, including those of an earlier restore.
  package var transactions: [TransactionID] = []
  /// The error that ended the restore, or the error of a missing purchase.
  package var error: ContentError?
}
