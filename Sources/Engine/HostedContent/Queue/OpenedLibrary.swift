import HostedConcurrency
import HostedLibrary
import HostedModel
import HostedFileIO

/// A library that a queue has locked and recovered from a crash.
struct OpenedLibrary {
  let folder: LibraryFolder
  let lock: LibraryLock
  let journal: any QueueJournal & InstallJournal
  let library: ContentLibrary
  let queue: JournaledQueue
  /// Errors of opening the library, for the first observer.
  let errors: [ContentError]

  /// Opens or creates the library of `configuration`.
  init(_ configuration: PaymentQueue.Configuration) throws {
    let environment = configuration.environment
    folder = try LibraryFolder(
      creating: configuration.library.filePath(of: "library"), fileSystem: configuration.fileSystem)
    lock = try LibraryLock(folder.root)
    journal = try environment.openJournal(of: folder)
    // After the journal has proved that this is a library.
    try folder.markAsCaches()
    library = ContentLibrary(
      folder, journal: journal, makeSignal: environment.execution.signal)
    var queue = try journal.readQueue()
    // Drop the data of cancelled downloads; the process may have ended before it did.
    let kept = queue.transactions.flatMap(\.downloads).filter { $0.state != .cancelled }
    errors =
      try queue.unreadable + library.recover(keeping: Set(kept.map(\.id.rawValue)))
      + library.reopenIncomplete(&queue.transactions, journal)
    self.queue = queue
  }
}

extension ContentLibrary {
  /// Sets finished downloads to waiting if their files are missing.
  ///
  /// Called when the queue opens, before the first report. Returns an error for each content that
  /// cannot be checked; its downloads stay finished. If the journal cannot be written now, the next
  /// start repeats this.
  fileprivate func reopenIncomplete(
    _ transactions: inout [TransactionRecord], _ queue: any QueueJournal
  ) throws -> [ContentError] {
    let (incomplete, errors) = try incomplete(among: transactions.finishedContents)
    var changes: [JournalChange] = []
    for number in transactions.indices where !incomplete.isEmpty {
      if transactions[number].reopenDownloads(of: incomplete) {
        changes.append(.save(transactions[number]))
      }
    }
    if !changes.isEmpty { try? queue.commit(changes) }
    return errors
  }
}
