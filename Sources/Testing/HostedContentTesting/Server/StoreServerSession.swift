import HostedConcurrency
public import HostedModel
public import FoundationEssentials
public import HostedContent
import HostedStoreAPI
import HostedStoreServer
import HostedLedger
import HostedFileServer

/// A store server for tests: purchases over HTTP, in this process.
///
/// It is the server of `hostedcontent store-server run`. It sells the products of a `StoreSession`
/// by that session's clock, with its own ledger and port, so that tests can run in parallel. Each
/// publication of the session is sold at once. It has its own decisions: those of
/// `StoreSession.setDecision` do not apply here. Its data is in the session's folder. After
/// `StoreSession.reset`, create another one. Thread-safe; calls block briefly.
public final class StoreServerSession: Sendable {
  /// The session with the products and the clock.
  public let session: StoreSession
  /// The URL of the server; the same after each start.
  public let url: URL
  /// The key that verifies the server's receipts.
  public let receiptKey: ReceiptVerificationKey

  let ledger: Ledger
  let decider = ScriptedDecider()
  /// The account of payments without an account.
  let ownAccount: AccountID
  private let token: String
  private let place: StoreSession.Place
  private let data: StoreServerFolder
  private let port: HeldPort
  private let log = StoreServerLog()
  private let server = Serialized<SellingServer?>(nil)

  /// Starts a server for the products of `session`.
  ///
  /// Throws file errors, and `cannotListen` if no port is free.
  public init(_ session: StoreSession) throws {
    let clock = session.clock
    let place = session.place
    let data = try StoreServerFolder(
      "\(place.folder.path)/server-\(session.nextNumber())", creating: true)
    let key = try data.receiptKey()
    // The server has its own connection to the same ledger.
    let ledger = Ledger(
      try data.ledgerDatabase(), sign: key.signer(now: { clock.now }))
    let port = try HeldPort("127.0.0.1", 0)
    self.session = session
    self.place = place
    self.data = data
    self.ledger = ledger
    self.port = port
    receiptKey = key.verificationKey
    url = try URL(ofServer: port.url(scheme: "http"))
    token = OpaqueToken.generate()
    let kid = try Self.add(
      .token(Self.digest(of: token)), [.read, .purchase, .content], to: ledger, of: session)
    ownAccount = AccountID(rawValue: kid)
    try start()
    session.onPublication { [weak self] in try self?.server.use { $0 }?.refreshCatalog() }
  }

  deinit {
    stop()
    ledger.close()
  }

  // MARK: Start and stop

  /// Starts the server again at the same address; does nothing if it runs.
  public func start() throws {
    try server.use { server in
      if server == nil { server = try startedServer() }
    }
  }

  private func startedServer() throws -> SellingServer {
    let clock = session.clock
    var configuration = SellingServer.Configuration()
    configuration.http.openPort = { [port] in port }
    configuration.decider = decider
    configuration.now = { clock.now }
    configuration.http.onRequest = { [log] in log.add($0) }
    let store = StoreReader(
      try StoreLocation("\(place.folder.path)/store"), trustedRoot: try place.store.initialRoot())
    let catalog = try Catalog(store, trustFolder: data.trustFolder(), now: { clock.now })
    return try SellingServer(data, selling: catalog, configuration) { [log] in log.add($0) }
  }

  /// Stops the server, so that it refuses connections until `start`.
  ///
  /// Requests in progress are completed.
  public func stop() {
    server.use { server in
      server?.stop()
      server = nil
    }
  }

  /// Delivers the events of changes in `ledger` at once; otherwise it takes up to a second.
  func deliverEvents() { server.use { $0 }?.deliverEvents() }

  // MARK: Buyers

  /// Returns the configuration for a queue that buys from this server.
  ///
  /// Each name is the folder of a library in the session's folder, such as one for each machine.
  /// The default is the library of the session, for `StoreSession.launch`. All libraries share one
  /// token, so payments without an account belong to the same account. Receipts are verified.
  /// Events are those after this call, or after the last event of an existing library. You can
  /// change the configuration.
  public func configuration(library name: String = "library") throws
    -> PaymentQueue.Configuration
  {
    var configuration = try session.configuration()
    configuration.library = session.folder.appending(path: name, directoryHint: .isDirectory)
    configuration.service = try service()
    configuration.seller = nil
    configuration.receiptVerifier = ReceiptVerifier(keys: [receiptKey])
    return configuration
  }

  /// Returns a service with `token`, or with the token of the configurations.
  public func service(token: String? = nil) throws -> HTTPStoreService {
    var network = NetworkSettings()
    network.proxy = .direct
    network.firstRetryDelay = .milliseconds(10)
    return try HTTPStoreService(
      url: url, token: token ?? self.token, network: network,
      firstCursor: ledger.head()?.position.cursor)
  }

  // MARK: What the server has done

  /// The requests in the order in which their responses ended: method, path and status.
  ///
  /// A response may reach its client just before its request is listed.
  public var requests: [String] { log.requests }

  /// The server's own failures, which clients see as status 500 or 503.
  public var errors: [ContentError] { log.errors }
}
