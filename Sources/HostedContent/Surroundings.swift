import ContentJournal
package import ContentModel
package import ContentTransfer
package import FileIO

/// What a queue has from outside beside files, clock and seller; a simulation brings its own.
package struct Surroundings: Sendable {
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
  /// Makes identifiers of transactions, each unique for ever.
  package var newIdentifier: @Sendable () -> String = randomIdentifier

  package init() {}
}
