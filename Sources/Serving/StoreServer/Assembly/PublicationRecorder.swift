import HostedConcurrency
import HostedModel
import FoundationEssentials
import HostedLedger

/// Records an event in the ledger when the catalog has changed, so that clients learn of it.
///
/// Thread-safe; calls block.
final class PublicationRecorder: Sendable {
  private let catalog: StoreCatalog
  private let ledger: Ledger
  private let folder: StoreServerFolder
  private let now: @Sendable () -> Date
  private let report: @Sendable (ContentError) -> Void
  private let state: Serialized<State>

  private struct State: Sendable {
    /// The version of the catalog that clients know; nil before the first one.
    var version: String?
    /// Whether the last periodic attempt failed.
    var hasFailed = false
  }

  /// Reads which version clients know; the first catalog is not an event.
  init(
    _ catalog: StoreCatalog, _ ledger: Ledger, _ folder: StoreServerFolder,
    now: @escaping @Sendable () -> Date, report: @escaping @Sendable (ContentError) -> Void
  ) throws {
    self.catalog = catalog
    self.ledger = ledger
    self.folder = folder
    self.now = now
    self.report = report
    state = Serialized(State(version: try folder.catalogVersion()))
    // The catalog of the first start is known.
    try state.use { if $0.version == nil { try record(&$0) } }
  }

  /// Records an event if the catalog has changed, also since the last run.
  func record() throws { try state.use { try record(&$0) } }

  /// Does the same, but reports the first of failures in a row.
  func recordPeriodically() {
    let failure: ContentError? = state.use { state in
      do {
        try record(&state)
        state.hasFailed = false
        return nil
      } catch {
        defer { state.hasFailed = true }
        return state.hasFailed ? nil : ContentError(error, while: "recording a publication")
      }
    }
    if let failure { report(failure) }
  }

  private func record(_ state: inout State) throws {
    guard let version = catalog.fetchedVersion, version != state.version else { return }
    if state.version != nil {
      for result in try ledger.commit([.publish], at: now()) { _ = try result.get() }
    }
    state.version = version
    // Not tried again if it fails: each attempt would add an event.
    try folder.setCatalogVersion(version)
  }
}
