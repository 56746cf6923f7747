package import HostedConcurrency
import HostedJournal
import HostedLibrary
package import HostedModel
package import HostedTransfer
package import Dispatch
package import HostedFileIO

/// Replaceable dependencies of a queue, for tests and the simulation.
package struct Environment: Sendable {
  /// Runs work on threads and queues.
  package var execution: any Execution = DispatchExecution()
  /// Opens the journal of a library.
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

  /// Creates the identifier of a transaction.
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
