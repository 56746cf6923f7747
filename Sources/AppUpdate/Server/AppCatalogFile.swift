package import HostedModel
package import HostedFileIO
import HostedConcurrency

/// The file `apps.json` of a store; it is read again after each change.
package final class AppCatalogFile: Sendable {
  package static let name = "apps.json"
  private static let limit: Int64 = 16 << 20

  private let folder: Directory
  private let report: @Sendable (ContentError) -> Void
  private let state = Mutex(State())

  private struct State {
    /// The identity of the last file whose content was read, valid or not.
    var identity: FileIdentity?
    /// The last valid catalog.
    var catalog: AppCatalog?
    /// Why the last file is invalid; it is thrown if there was no valid one.
    var failure: ContentError?
    /// The identity of the last file with a reported error.
    var reported: FileIdentity?
  }

  /// Creates the catalog for the file in `folder`, which may not exist yet.
  ///
  /// `report` is called once for each change that makes the file invalid or unreadable.
  package init(
    in folder: Directory, report: @escaping @Sendable (ContentError) -> Void = { _ in }
  ) {
    self.folder = folder
    self.report = report
  }

  /// The apps of the last valid file; nil if the file does not exist.
  ///
  /// Throws file errors, and `storeDamaged` for an invalid file, unless there was a valid one
  /// before.
  package func catalog() throws -> AppCatalog? { try current(report) }

  /// Reads the file for the first time.
  ///
  /// Errors are thrown, not reported.
  package func open() throws { _ = try current { _ in } }

  private func current(_ report: (ContentError) -> Void) throws -> AppCatalog? {
    guard let identity = try folder.status(of: Self.name)?.identity else {
      state.withLock { $0 = State() }
      return nil
    }
    let known = state.withLock { $0 }
    if known.identity == identity {
      if let catalog = known.catalog { return catalog }
      if let failure = known.failure { throw failure }
    }
    do {
      let bytes = try folder.contents(of: Self.name, limit: Self.limit)
      let catalog = try AppCatalog(json: bytes, source: folder.path(of: Self.name))
      state.withLock { $0 = State(identity: identity, catalog: catalog) }
      return catalog
    } catch {
      let failure = ContentError(error, while: "reading \(Self.name)")
      // After another error, such as too many open files, the next call reads the file again.
      let isInvalid = [.storeDamaged, .limitExceeded].contains(failure.code)
      let isNew = state.withLock { state in
        defer { state.reported = identity }
        if isInvalid {
          state.identity = identity
          state.failure = failure
        }
        return state.reported != identity
      }
      if isNew { report(failure) }
      guard let catalog = known.catalog else { throw error }
      return catalog
    }
  }

  /// Returns the response to a GET of `path` with decoded parameters.
  ///
  /// Returns nil if the file does not exist, and for other paths.
  package func answer(path: String, parameters: [String: String]) throws -> AppServerAnswer? {
    try catalog()?.answer(path: path, parameters: parameters)
  }
}
