public import FoundationEssentials
import HostedConcurrency
public import HostedContent
import HostedDigests
import HostedFileServer
import HostedShop
public import HostedModel
import HostedStoreAPI
import HostedStoreServer

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
  /// Makes the operator's changes, also while the server is stopped.
  private let shop: Shop
  private let rules: PurchaseRules
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
    let rules = PurchaseRules()
    let data = try StoreServerFolder(
      "\(place.folder.path)/server-\(session.nextNumber())", creating: true)
    // The server has its own connection to the same ledger.
    let ledger = Ledger(try data.ledgerDatabase())
    let key = try data.receiptKey(of: ledger, at: clock.now)
    let port = try HeldPort("127.0.0.1", 0)
    self.session = session
    self.place = place
    self.data = data
    self.ledger = ledger
    self.rules = rules
    var settings = Shop.Settings(catalog: NoProducts(), deciders: rules.deciders) {
      $1(ledger.results(of: $0, at: clock.now))
    }
    settings.sign = key.signer
    shop = Shop(ledger, settings)
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
    configuration.deciders = rules.deciders
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

/// Controls the server like its operator does, also while it is stopped.
extension StoreServerSession {
  // MARK: Decisions

  /// Sets the decision about purchases of `product`: the next `count`, or all for nil.
  ///
  /// Purchases without a rule are approved. A payment with `simulatesAskToBuy` always waits.
  /// Throws `usage` if `count` is less than 1.
  public func setDecision(
    _ decision: PurchaseDecision, about product: ProductIdentifier, count: Int? = nil
  ) throws {
    try rules.set(HostedShop.PurchaseDecision(decision), about: product, count: count)
  }

  /// Adds vouchers, each for one purchase of `product`, or of any product for nil.
  ///
  /// A code that was added before does not change.
  public func addVouchers(_ codes: [String], for product: ProductIdentifier? = nil) throws {
    // Only the digests are stored.
    _ = try ledger.addVouchers(
      codes.map { try Digest(of: Array($0.utf8)) }, for: product, at: session.clock.now)
  }

  // MARK: Changes

  /// Approves a purchase that waits for a decision or was interrupted.
  ///
  /// The queue of the buyer gets the purchase. This and the following methods throw `usage` for an
  /// unknown transaction, and if the state of the purchase does not allow the change.
  @discardableResult
  public func approve(_ transaction: TransactionID) throws -> Purchase {
    try change(transaction, .approve)
  }

  /// Declines a purchase that waits for a decision; it fails with `purchaseDeclined`.
  @discardableResult
  public func decline(_ transaction: TransactionID, reason: String = "Declined") throws
    -> Purchase
  {
    try change(transaction, .decline(reason: reason))
  }

  /// Pays a purchase back, so that the account no longer owns it; observers are notified.
  @discardableResult
  public func refund(_ transaction: TransactionID, reason: String = "") throws -> Purchase {
    try change(transaction, .refund(reason: reason))
  }

  /// Takes a purchase back, so that the account no longer owns it; observers are notified.
  @discardableResult
  public func revoke(_ transaction: TransactionID, reason: String = "") throws -> Purchase {
    try change(transaction, .revoke(reason: reason))
  }

  /// Undoes a refund or a revocation.
  @discardableResult
  public func reverse(_ transaction: TransactionID) throws -> Purchase {
    try change(transaction, .reverse)
  }

  private func change(_ transaction: TransactionID, _ change: PurchaseChange) throws -> Purchase {
    let made = Mutex<Shop.SaleResult?>(nil)
    // The rules decide at once, so that the change is made when this returns.
    shop.change(transaction, change) { result in made.withLock { $0 = result } }
    deliverEvents()
    switch made.withLock({ $0 }) {
    case .success(let outcome)?:
      if let purchase = outcome.purchase { return Purchase(try shop.signed(purchase)) }
    case .failure(.refused(.impossible(let record)))?:
      throw ContentError.impossible(change, of: transaction, record.state)
    case .failure(.refused(.failed(let error)))?, .failure(.commitFailed(let error))?: throw error
    case .failure?, nil: break
    }
    throw ContentError(
      .usage, "The server has no purchase \(transaction)",
      remedy: "Wait until the server has answered the purchase", subject: transaction.rawValue)
  }

  // MARK: Keys

  /// Creates a token with `scopes`; payments without an account then have an account of its own.
  public func makeToken(scopes: Set<Scope>) throws -> String {
    let token = OpaqueToken.generate()
    _ = try Self.add(.token(Self.digest(of: token)), scopes, to: ledger, of: session)
    return token
  }

  /// Revokes a token at once; throws `usage` if this server has no such token, or has revoked it.
  public func revokeToken(_ token: String) throws {
    let key = try ledger.key(ofToken: Self.digest(of: token))
    guard let key, try ledger.revokeKey(key.kid, at: session.clock.now) else {
      throw ContentError(
        .usage, "The token is unknown or was revoked before",
        remedy: "Revoke tokens that this server has created, once")
    }
  }

  /// Adds a public key in PEM form that verifies JWTs; returns its `kid`.
  ///
  /// The claim `aud` of the JWTs is `url` without the slash at its end. Throws `keyUnusable` if it
  /// is not Ed25519 or P-256.
  public func addKey(pem: String, scopes: Set<Scope>) throws -> String {
    guard let key = try? ReceiptVerificationKey(pem: pem) else {
      throw ContentError(
        .keyUnusable, "The text is not a public key of type Ed25519 or ECDSA P-256 in PEM form",
        remedy: "Use the public key of the key pair that signs the JWTs")
    }
    return try Self.add(.publicKey(pem: key.pem), scopes, to: ledger, of: session)
  }

  /// Adds a key; returns its identifier, which is also the own account of its service.
  static func add(
    _ credential: APIKey.Credential, _ scopes: Set<Scope>, to ledger: Ledger,
    of session: StoreSession
  ) throws -> String {
    let kid = "\(APIKey.prefix)\(session.nextNumber())"
    _ = try ledger.add(
      APIKey(
        kid: kid, account: AccountID(rawValue: kid), credential,
        scopes: Set(scopes.compactMap { KeyScope(rawValue: $0.rawValue) }),
        created: session.clock.now))
    return kid
  }

  static func digest(of token: String) throws -> Digest {
    guard let digest = try OpaqueToken.digest(of: token) else {
      throw ContentError(
        .usage, "The text is not a token of a store server",
        remedy: "Use a token that this server has created")
    }
    return digest
  }

  // MARK: The ledger

  /// Returns all purchases of `account`, oldest first.
  ///
  /// A nil account means payments without an account, of queues with a configuration of this
  /// server.
  public func purchases(account: AccountID? = nil) throws -> [Purchase] {
    try ledger.purchases(account: account ?? ownAccount, limit: .max, all: true)
      .sorted { $0.sequence < $1.sequence }.map { Purchase(try shop.signed($0)) }
  }

  /// Returns the events of all accounts, oldest first.
  public func events() throws -> [Event] {
    try ledger.events(after: 0, limit: .max).compactMap { event in
      var event = event
      event.purchase = try event.purchase.map { try shop.signed($0) }
      return Event(event)
    }
  }
}

extension StoreServerSession {
  /// The decision about a purchase.
  public enum PurchaseDecision: Hashable, Sendable {
    /// It is sold.
    case approve
    /// Sold if the request has an unused voucher for the product; otherwise it fails.
    case requireVoucher
    /// It fails with `purchaseDeclined`.
    case decline(reason: String)
    /// It waits until `approve` or `decline` (Ask to Buy).
    case later
    /// It fails with `purchaseInterrupted`: the buyer must first do something at the seller.
    ///
    /// After `approve`, it is delivered as another transaction.
    case interrupt
  }

  /// What a token or a key may do.
  public enum Scope: String, Hashable, Sendable, CaseIterable {
    case read, purchase, content, report, publish, admin
  }

  /// A purchase in the server's ledger.
  public struct Purchase: Hashable, Sendable {
    /// The transaction, as in the buyer's queue.
    public let transaction: TransactionID
    /// The product.
    public let productIdentifier: ProductIdentifier
    /// The account; nil if the payment had none.
    public let account: AccountID?
    /// The quantity.
    public let quantity: Int
    /// The state.
    public let state: State
    /// The date of the purchase, or of its approval.
    public let date: Date
    /// The signed receipt (JWS); nil unless it was purchased.
    public let receipt: String?
    /// Whether the buyer's queue has finished it.
    public let isFinished: Bool

    /// The states of a purchase.
    public enum State: String, Hashable, Sendable, CaseIterable {
      case deferred, purchased, failed, refunded, revoked
    }
  }

  /// An event of the server.
  public struct Event: Hashable, Sendable {
    /// The kind.
    public let kind: Kind
    /// The date.
    public let date: Date
    /// The purchase as it is now; nil for `published`.
    public let purchase: Purchase?

    /// The kinds of events.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      case purchased, decided, refunded, revoked, reversed, published
    }
  }
}

extension StoreServerSession.Purchase {
  init(_ record: PurchaseRecord) {
    transaction = TransactionID(rawValue: record.transaction)
    productIdentifier = record.product
    account = record.namedAccount
    quantity = record.quantity
    state =
      switch record.state {
      case .deferred: .deferred
      case .purchased: .purchased
      case .failed: .failed
      case .refunded: .refunded
      case .revoked: .revoked
      }
    date = record.date
    receipt = record.receipt
    isFinished = record.finished != nil
  }
}

extension StoreServerSession.Event {
  init?(_ event: LedgerEvent) {
    guard let kind = Kind(rawValue: event.kind.nameInMessages) else { return nil }
    self.kind = kind
    date = event.date
    purchase = event.purchase.map { StoreServerSession.Purchase($0) }
  }
}

extension HostedShop.PurchaseDecision {
  init(_ decision: StoreServerSession.PurchaseDecision) {
    self =
      switch decision {
      case .approve: .approve()
      case .requireVoucher: .redeemVoucher
      case .decline(let reason): .decline(reason: reason)
      case .later: .later
      case .interrupt: .interrupt
      }
  }
}

/// The requests to a server, and its own failures.
///
/// It outlives the starts of the server. The server's threads keep it, and not the session, whose
/// deallocation waits for them.
private final class StoreServerLog: Sendable {
  private let entries = Mutex((requests: [String](), errors: [ContentError]()))

  func add(_ request: HandledRequest) {
    let status = request.status.map { "\($0)" } ?? "closed"
    entries.withLock { $0.requests.append("\(request.method) \(request.path) \(status)") }
  }

  func add(_ error: ContentError) { entries.withLock { $0.errors.append(error) } }

  var requests: [String] { entries.withLock { $0.requests } }

  var errors: [ContentError] { entries.withLock { $0.errors } }
}

/// The decisions of a session's server by product; approves those without a rule.
private final class PurchaseRules: Sendable {
  private let rules = Mutex(ProductRules<HostedShop.PurchaseDecision>())

  func set(
    _ decision: HostedShop.PurchaseDecision, about product: ProductIdentifier, count: Int?
  ) throws {
    try rules.withLock { try $0.set(decision, for: product, count: count) }
  }

  var deciders: DeciderChain {
    DeciderChain([
      .script { [self] request in
        rules.withLock { $0.take(for: request.productIdentifier) } ?? .approve()
      }
    ])
  }
}

/// The catalog for changes by the operator, which need no price.
private struct NoProducts: SaleCatalog {
  func products(_ identifiers: Set<ProductIdentifier>) throws -> SaleProducts {
    SaleProducts(products: [])
  }

  func known(_ identifiers: Set<ProductIdentifier>) -> SaleProducts? { SaleProducts(products: []) }
}
