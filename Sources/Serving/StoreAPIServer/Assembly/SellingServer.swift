import Concurrency
package import ContentModel
package import FoundationEssentials
package import HostedContent
package import StoreAPI
package import StoreLedger
import StoreServer

/// A store server: the ledger, the catalog, the API and its HTTP server.
///
/// Thread-safe; calls block.
package final class SellingServer: Sendable {
  package let ledger: Ledger
  private let folder: StoreServerFolder
  private let catalog: StoreCatalog
  private let configuration: Configuration
  private let receiptKey: ReceiptVerificationKey
  private let report: @Sendable (ContentError) -> Void
  /// Identifies the SQLite ledger; nil for another database.
  private let ledgerFile: SQLiteLedger?
  private let state: Mutex<State>

  private struct State {
    /// Held until the server stops.
    var lock: ServerLock?
    var running: Running?
    /// The version of the catalog that clients know.
    var reportedCatalog: String?
    /// Whether the last attempt to report a catalog failed.
    var hasFailed = false
  }

  /// What runs from a start to a stop.
  private typealias Running = (api: StoreAPI, server: APIServer, ticker: Ticker)

  /// The settings of a store server.
  package struct Configuration: Sendable {
    /// The port and the limits; the server sets all other functions except `onRequest`.
    package var http = APIServer.Configuration()
    /// The URL under which clients reach the server; nil is the URL at which it listens.
    package var origin: String?
    package var decider: any PurchaseDecider = ApprovingDecider()
    /// Nil: packages are public.
    package var gate: ContentGate?
    /// The database of the ledger; nil is SQLite in the data folder.
    package var database: (any LedgerDatabase)?
    package var now: @Sendable () -> Date = { Date() }

    package init() {}
  }

  /// Opens the data folder and locks it; throws `storeLocked` if another server uses it.
  ///
  /// `report` gets errors that no caller sees, on any thread.
  package init(
    _ folder: StoreServerFolder, selling catalog: Catalog, _ configuration: Configuration,
    report: @escaping @Sendable (ContentError) -> Void = { _ in }
  ) throws {
    let lock = try ServerLock(in: folder.directory)
    let key = try folder.receiptKey()
    let database: any LedgerDatabase
    if let given = configuration.database {
      (database, ledgerFile) = (given, nil)
    } else {
      let file = try folder.ledgerDatabase()
      (database, ledgerFile) = (file, file)
    }
    self.folder = folder
    self.catalog = StoreCatalog(catalog, report: report)
    self.configuration = configuration
    self.report = report
    receiptKey = key.verificationKey
    ledger = Ledger(database, sign: key.signer(now: configuration.now))
    state = Mutex(State(lock: lock))
  }

  /// Loads the catalog, prepares the ledger, and listens.
  package func start() throws {
    try catalog.load()
    checkReceiptKey()
    // The first write creates the ledger.
    let start = configuration.now().addingTimeInterval(-EventFeed.retention.inSeconds)
    try ledger.pruneEvents(before: start)
    if let ledgerFile { try ledger.adopt(origin: ledgerFile.origin) }
    try noteCatalog()
    var settings = configuration.http
    // The API needs the URL before the server listens.
    let port = try settings.openPort()
    settings.openPort = { port }
    let url = String(port.url(scheme: "http").dropLast())
    let api = try makeAPI(origin: configuration.origin ?? url)
    // Otherwise it would wait for event streams and long polls.
    settings.onStop = { api.events.beginClose() }
    // A store or a webhook that hangs must not delay the end.
    settings.onStopTimeout = { [catalog, decider = configuration.decider] in
      catalog.close()
      decider.close()
    }
    settings.respondAtOnce = { api.immediateResponse(to: $0) }
    let server = APIServer(settings) { api.handle($0, respond: $1) }
    try server.start()
    let ticker = try Ticker(every: .seconds(1)) { [weak self] in self?.tick() }
    state.withLock { $0.running = (api, server, ticker) }
  }

  /// Reports a store that lists receipt keys, but not the server's: queues then refuse its
  /// receipts.
  private func checkReceiptKey() {
    guard let keys = try? catalog.receiptKeys(), !keys.contains(receiptKey) else { return }
    report(
      ContentError(
        .keyUnusable, "The store does not list the public key that verifies this server's receipts",
        remedy: "Add receipt-key.pub.pem of the data folder to the receipt keys of the store, or "
          + "restore the listed key there. Clients refuse purchases until then"))
  }

  /// Reads which catalog clients know; it is the current one at the first start.
  private func noteCatalog() throws {
    let version = try folder.catalogVersion()
    let current = try catalog.version
    if version == nil { try folder.setCatalogVersion(current) }
    state.withLock { $0.reportedCatalog = version ?? current }
  }

  private func makeAPI(origin: String) throws -> StoreAPI {
    var settings = StoreAPI.Configuration(origin: origin)
    settings.decider = configuration.decider
    settings.gate = configuration.gate
    settings.report = report
    return try StoreAPI(
      ledger, catalog: catalog, configuration: settings, now: configuration.now)
  }

  /// Completes running requests, ends waiting ones, and closes everything.
  package func stop() {
    let (running, lock) = state.withLock { state in
      defer { (state.running, state.lock) = (nil, nil) }
      return (state.running, state.lock)
    }
    running?.server.stop()
    // Ends requests to the store, for which the API and the ticker wait.
    catalog.close()
    running?.api.close()
    running?.ticker.stop()
    configuration.decider.close()
    ledger.close()
    withExtendedLifetime(lock) {}
  }

  deinit { stop() }

  /// The URL at which it listens, with a trailing slash; empty before the start.
  package var url: String { state.withLock { $0.running }?.server.url ?? "" }

  /// Delivers the events of changes that another ledger has made, without delay.
  package func deliverEvents() { state.withLock { $0.running }?.api.events.wake() }

  // MARK: The catalog

  /// Fetches the catalog now, and reports it to clients if it has changed.
  package func refreshCatalog() throws {
    try catalog.refreshNow()
    try reportCatalog()
    deliverEvents()
  }

  private func tick() {
    catalog.refreshPeriodically()
    do {
      try reportCatalog()
      state.withLock { $0.hasFailed = false }
    } catch {
      let isRepeated = state.withLock { state in
        defer { state.hasFailed = true }
        return state.hasFailed
      }
      if !isRepeated { report(ContentError(error, while: "recording a publication")) }
    }
  }

  /// Records an event if the catalog has changed, also since the last run.
  private func reportCatalog() throws {
    guard let version = try? catalog.version else { return }
    let known = state.withLock { state in
      defer { state.reportedCatalog = version }
      return state.reportedCatalog
    }
    guard known != version else { return }
    do {
      for result in try ledger.commit([.publish], at: configuration.now()) { _ = try result.get() }
    } catch {
      // The next attempt reports it.
      state.withLock { $0.reportedCatalog = known }
      throw error
    }
    // Not tried again if it fails: each attempt would add an event.
    try folder.setCatalogVersion(version)
  }
}
