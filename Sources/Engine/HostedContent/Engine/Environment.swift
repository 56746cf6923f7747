package import Concurrency
import ContentJournal
import ContentLibrary
package import ContentModel
package import ContentTransfer
package import Dispatch
package import FileIO

/// What a queue has from outside beside files, clock and seller; a simulation brings its own.
package struct Environment: Sendable {
  /// Where work runs.
  package var execution: any Execution = DispatchExecution()
  /// Opens the journal of a library.
  package var openJournal: @Sendable (Directory) throws -> any QueueJournal & InstallJournal = {
    try SQLiteJournal(in: $0)
  }
  /// Where pieces come from; nil for the store.
  package var pieceSource: (@Sendable () throws -> any PieceSource)?
  /// Whether contents that a service names are looked up in the store's catalog.
  package var usesCatalog = true
  /// Threads that take packages apart beside the one that fetches; nil for one a processor.
  package var assemblyWorkers: Int?
  /// How long closing waits for code of the user in all: calls of observers and of the service.
  package var closingLimit = DispatchTimeInterval.seconds(5)
  /// Makes identifiers of transactions, each unique for ever.
  package var newIdentifier: @Sendable () -> String = randomIdentifier

  package init() {}

  /// Opens the journal, on a full disk after versions are deleted that a process has not deleted to
  /// the end.
  func openJournal(of folder: LibraryFolder) throws -> any QueueJournal & InstallJournal {
    do {
      return try openJournal(folder.root)
    } catch let error as ContentError where error.code == .diskFull {
      guard try folder.deleteRemoved(after: folder.staging.syncFileSystem) else { throw error }
      return try openJournal(folder.root)
    }
  }
}
