package import FoundationEssentials
import HostedConcurrency
package import HostedContent
import HostedFileServer
package import HostedShop
package import HostedModel
package import HostedStoreAPI

/// A running store server: the ledger, the catalog, the API and its HTTP server.
///
/// Thread-safe; calls block.
package final class SellingServer: Sendable {
  /// The URL at which it listens, with a trailing slash.
  package let url: String
  private let ledger: Ledger
  private let catalog: StoreCatalog
  private let publications: PublicationRecorder
  private let webhook: WebhookDecider?
  private let api: StoreAPI
  private let server: StoreServer
  private let ticker: Ticker
  /// Nil after the stop.
  private let lock: Serialized<ServerLock?>

  /// The settings of a store server.
  package struct Configuration: Sendable {
    /// The port and the limits; the server sets all other functions except `onRequest`.
    package var http = StoreServer.Configuration()
    /// The URL under which clients reach the server; nil is the URL at which it listens.
    package var origin: String?
    package var deciders = DeciderChain([.always])
    /// The decider of the chain that the server closes.
    package var webhook: WebhookDecider?
    /// Nil: packages are public.
    package var gate: ContentGate?
    /// The database of the ledger; nil is SQLite in the data folder.
    package var database: (any LedgerDatabase)?
    /// When purchases that are not sales end.
    package var ends = PurchaseEnds()
    package var now: @Sendable () -> Date = { Date() }

    package init() {}
  }

  /// Locks the data folder, loads the catalog, prepares the ledger, and listens.
  ///
  /// Throws `storeLocked` if another server uses the folder. `report` gets errors that no caller
  /// sees, on any thread; it must not stop the server.
  package init(
    _ folder: StoreServerFolder, selling source: Catalog, _ configuration: Configuration,
    report: @escaping @Sendable (ContentError) -> Void = { _ in }
  ) throws {
    let lock = try ServerLock(in: folder.directory)
    let ledger = try Self.openLedger(in: folder, configuration)
    let key = try folder.receiptKey(of: ledger, at: configuration.now())
    let catalog = try StoreCatalog(source, report: report)
    if let obstacle = catalog.obstacle(to: key.verificationKey) { report(obstacle) }
    let cleaner = try LedgerCleaner(
      ledger, configuration.ends, now: configuration.now, report: report)
    let publications = try PublicationRecorder(
      catalog, ledger, folder, now: configuration.now, report: report)
    // The API needs the URL before the server listens.
    let port = try configuration.http.openPort()
    let url = port.url(scheme: "http")
    var settings = StoreAPI.Configuration(origin: configuration.origin ?? String(url.dropLast()))
    settings.deciders = configuration.deciders
    settings.sign = key.signer
    settings.signer = key.verificationKey.pem
    settings.obstacle = { catalog.obstacle(to: key.verificationKey) }
    settings.gate = configuration.gate
    settings.report = report
    let api = try StoreAPI(
      ledger, catalog: catalog, configuration: settings, now: configuration.now)
    server = StoreServer(Self.httpSettings(configuration, port, api, catalog)) {
      api.handle($0, respond: $1)
    }
    try server.start()
    ticker = try Ticker(every: .seconds(1)) {
      catalog.refreshPeriodically()
      publications.recordPeriodically()
      if cleaner.cleanHourly() { api.events.wake() }
    }
    self.url = url
    self.ledger = ledger
    self.catalog = catalog
    self.publications = publications
    self.api = api
    webhook = configuration.webhook
    self.lock = Serialized(lock)
  }

  deinit { stop() }

  /// Completes running requests, ends waiting ones, and closes everything.
  ///
  /// A second call waits for the first one. The server cannot be started again.
  package func stop() {
    lock.use { lock in
      guard lock != nil else { return }
      server.stop()
      // Ends requests to the store, for which the API and the ticker wait.
      catalog.close()
      api.close()
      ticker.stop()
      webhook?.close()
      ledger.close()
      lock = nil
    }
  }

  /// Delivers the events of changes that another ledger has made, without delay.
  package func deliverEvents() { api.events.wake() }

  /// Fetches the catalog now, and reports it to clients if it has changed.
  package func refreshCatalog() throws {
    try catalog.refreshNow()
    try publications.record()
    deliverEvents()
  }

  // MARK: Parts

  /// Opens the ledger, and detects a restored one.
  private static func openLedger(
    in folder: StoreServerFolder, _ configuration: Configuration
  ) throws -> Ledger {
    if let database = configuration.database { return Ledger(database) }
    let file = try folder.ledgerDatabase()
    let ledger = Ledger(file)
    try ledger.adopt(origin: file.origin)
    return ledger
  }

  private static func httpSettings(
    _ configuration: Configuration, _ port: HeldPort, _ api: StoreAPI, _ catalog: StoreCatalog
  ) -> StoreServer.Configuration {
    var settings = configuration.http
    settings.openPort = { port }
    // Otherwise it would wait for event streams and long polls.
    settings.onStop = { api.events.beginClose() }
    // A store or a webhook that hangs must not delay the end.
    settings.onStopTimeout = { [webhook = configuration.webhook] in
      catalog.close()
      webhook?.close()
    }
    settings.respondAtOnce = { api.immediateResponse(to: $0) }
    return settings
  }
}

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

/// Deletes old events of a ledger, and ends purchases that wait or have failed, at its creation and
/// then once an hour.
///
/// Thread-safe; calls block.
final class LedgerCleaner: Sendable {
  private let ledger: Ledger
  private let ends: PurchaseEnds
  private let now: @Sendable () -> Date
  private let clock: @Sendable () -> ContinuousClock.Instant
  private let report: @Sendable (ContentError) -> Void
  private let next: Mutex<ContinuousClock.Instant>

  /// The documented time for which a cursor can be used.
  private static let retention: Duration = .seconds(30 * 86_400)
  private static let interval: Duration = .seconds(3_600)

  /// `now` is the date for the age of events, and `clock` is for the interval.
  init(
    _ ledger: Ledger, _ ends: PurchaseEnds = PurchaseEnds(), now: @escaping @Sendable () -> Date,
    clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    report: @escaping @Sendable (ContentError) -> Void
  ) throws {
    self.ledger = ledger
    self.ends = ends
    self.now = now
    self.clock = clock
    self.report = report
    next = Mutex(clock() + Self.interval)
    _ = try clean()
  }

  /// Cleans if an hour has passed, and reports a failure; returns whether there is a new event.
  func cleanHourly() -> Bool {
    let time = clock()
    let isDue = next.withLock { next in
      guard time >= next else { return false }
      next = time + Self.interval
      return true
    }
    guard isDue else { return false }
    do {
      return try clean()
    } catch {
      report(ContentError(error, while: "deleting old events"))
      return false
    }
  }

  private func clean() throws -> Bool {
    let now = now()
    let hasEvents = try ends.apply(to: ledger, at: now)
    try ledger.pruneEvents(before: now.addingTimeInterval(-Self.retention.inSeconds), now: now)
    return hasEvents
  }
}

extension ReceiptSigningKey {
  /// The function that signs the receipts of a shop.
  package var signer: @Sendable (PurchaseRecord) throws -> String {
    { try sign(Receipt(of: $0, accountToken: $0.namedAccount)) }
  }
}
