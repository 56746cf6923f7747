package import Dispatch
package import HostedConcurrency
package import HostedFileIO
import HostedJournal
import HostedLibrary
package import HostedTransfer

/// Replaceable dependencies of a queue, for tests and the simulation.
package struct Environment: Sendable {
  package var execution: any Execution = DispatchExecution()
  package var openJournal: @Sendable (Directory) throws -> any QueueJournal & InstallJournal = {
    try SQLiteJournal(in: $0)
  }
  /// Creates the source of pieces; nil for the store.
  package var pieceSource: (@Sendable () throws -> any PieceSource)?
  /// Whether contents named by a service are looked up in the store's catalog.
  package var usesCatalog = true
  /// Decoder threads in addition to the fetching thread; nil for one per processor.
  package var assemblyWorkers: Int?
  /// How long closing waits in total for user code: calls of observers and of the service.
  package var closingLimit = DispatchTimeInterval.seconds(5)
  /// Returns a number from 0 to 1, for the delays between retries.
  package var random: @Sendable () -> Double = { .random(in: 0...1) }
  /// Waits between retries of calls to the service; throws if its task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  /// Creates the text of an identifier; each must be unique forever.
  package var newIdentifier: @Sendable () -> String = randomIdentifier

  package init() {}

  func newTransaction() -> TransactionID { TransactionID(rawValue: newIdentifier()) }

  /// Opens the journal.
  ///
  /// If the disk is full, first finishes deleting versions that an earlier process has removed.
  func openJournal(of folder: LibraryFolder) throws -> any QueueJournal & InstallJournal {
    do {
      return try openJournal(folder.root)
    } catch let error as ContentError where error.code == .diskFull {
      guard try folder.deleteRemoved(after: folder.sync) else { throw error }
      return try openJournal(folder.root)
    }
  }
}

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
    library = ContentLibrary(folder, journal: journal, makeSignal: environment.execution.signal)
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
