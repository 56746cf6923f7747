import HostedHTTPValues
import HostedConcurrency
import HostedModel
import HostedDigests
import Foundation
import HostedShop
import HostedTestSupport

@testable import HostedStoreAPI

/// A store API over its own SQLite ledger, without HTTP.
final class TestStore: Sendable {
  static let origin = "https://store.example"

  let database: TestDatabase
  let ledger: Ledger
  let catalog = TestCatalog()
  let clock = Watched(Date(timeIntervalSince1970: 1_800_000_000))
  /// The errors of the server itself.
  let reports = Watched<[ContentError]>([])
  let api: StoreAPI
  private let folder: TemporaryFolder

  init(
    deciders: DeciderChain = DeciderChain([.always]),
    configure: (inout StoreAPI.Configuration) -> Void = { _ in }
  ) throws {
    let folder = try TemporaryFolder()
    let database = TestDatabase(try SQLiteLedger(in: folder.directory))
    let ledger = Ledger(database)
    let (clock, reports) = (self.clock, self.reports)
    var configuration = StoreAPI.Configuration(origin: TestStore.origin)
    configuration.deciders = deciders
    configuration.sign = { "receipt of \($0.transaction)" }
    configuration.report = { error in reports.change { $0.append(error) } }
    configure(&configuration)
    api = try StoreAPI(
      ledger, catalog: catalog, configuration: configuration, now: { clock.value })
    // A server creates its ledger at its start.
    _ = try ledger.addVouchers([], for: nil, at: clock.value)
    self.folder = folder
    self.database = database
    self.ledger = ledger
  }

  deinit {
    api.close()
    ledger.close()
  }

  /// Adds a key with an opaque token, and returns the token.
  func token(_ scopes: KeyScope..., kid: String = "key-test") throws -> String {
    let token = OpaqueToken.generate()
    let digest = try OpaqueToken.digest(of: token) ?? Digest(of: [])
    _ = try ledger.add(
      APIKey(
        kid: "\(kid)-\(randomIdentifier())", account: AccountID(rawValue: kid), .token(digest),
        scopes: Set(scopes),
        created: clock.value))
    return token
  }

  /// Removes the files of the ledger.
  func removeLedger() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      try FileManager.default.removeItem(atPath: folder.path(name))
    }
  }

  func send(
    _ method: String, _ target: String, _ token: String? = nil,
    headers: HTTPHeaders = [:], body: [UInt8]
  ) async -> HTTPResponse<APIBody> {
    let authorization: HTTPHeaders = token.map { ["Authorization": "Bearer \($0)"] } ?? [:]
    let request = HTTPRequest(
      method, target, headers: headers + authorization, body: body, allowsEscapedSlashes: true)
    return await withCheckedContinuation { continuation in
      api.handle(request) { continuation.resume(returning: $0) }
    }
  }

  func send(
    _ method: String, _ target: String, _ token: String? = nil,
    headers: HTTPHeaders = [:], body: String = ""
  ) async -> HTTPResponse<APIBody> {
    await send(method, target, token, headers: headers, body: Array(body.utf8))
  }

  /// Buys a product.
  @discardableResult
  func buy(
    _ transaction: String, _ token: String?, product: String = "book", account: String? = nil,
    _ more: String = ""
  ) async -> HTTPResponse<APIBody> {
    let named = account.map { ",\"account\":\"\($0)\"" } ?? ""
    return await send(
      "POST", "/v1/purchases", token, headers: ["Idempotency-Key": transaction],
      body: "{\"productIdentifier\":\"\(product)\"\(named)\(more)}")
  }
}

extension HTTPResponse<APIBody> {
  var bytes: [UInt8] { if case .bytes(let bytes) = body { bytes } else { [] } }

  /// The body as JSON; null if it is not JSON.
  var document: JSONValue { (try? JSONValue(parsing: bytes)) ?? .null }

  func header(_ name: String) -> String? { headers[name] }

  /// Whether this is a complete problem.
  var isProblem: Bool {
    header("Content-Type") == "application/problem+json"
      && document["status"]?.integer == Int64(status) && document["code"]?.integer != nil
      && document["title"]?.string != "Unknown" && document["detail"]?.string?.isEmpty == false
      && document["remedy"]?.string?.isEmpty == false
  }
}

/// The catalog of a `TestStore`.
final class TestCatalog: ListedCatalog {
  struct State: Sendable {
    var version = "1"
    var products: [Product] = []
    /// Whether look-ups wait.
    var isHeld = false
    var failure: ContentError?
    var failures: [ContentError] = []
  }

  let state: Watched<State>

  init() {
    state = Watched(
      State(products: [
        Self.product(
          "book", price: Price(2.99, currency: "EUR"), contents: ["book", "book.audio"]),
        Self.product("coins", .consumable), Self.product("magazine", .autoRenewable),
      ]))
  }

  var version: String {
    get throws {
      if let failure = state.value.failure { throw failure }
      return state.value.version
    }
  }

  func products(_ identifiers: Set<ProductIdentifier>) throws -> SaleProducts {
    let state = try available()
    let found = state.products.filter { identifiers.contains($0.productIdentifier) }
    let missing = identifiers.subtracting(found.map(\.productIdentifier))
    return SaleProducts(
      products: found, invalid: missing.map(\.rawValue), failures: state.failures)
  }

  func known(_ identifiers: Set<ProductIdentifier>) -> SaleProducts? {
    let state = state.value
    guard !state.isHeld, state.failure == nil else { return nil }
    return try? products(identifiers)
  }

  func page(after position: ProductIdentifier?, limit: Int) throws -> SaleProducts {
    let state = try available()
    let rest = state.products.filter { product in
      position.map { $0 < product.productIdentifier } ?? true
    }.sorted { $0.productIdentifier < $1.productIdentifier }
    let page = Array(rest.prefix(limit))
    return SaleProducts(
      products: page, failures: state.failures,
      next: rest.count > limit ? page.last?.productIdentifier : nil)
  }

  func offers(of product: ProductIdentifier) throws -> [ContentOffer] {
    let found = try products([product])
    if let failure = found.failures.first { throw failure }
    return found.products.first?.contents ?? []
  }

  private func available() throws -> State {
    state.block { !$0.isHeld }
    let state = state.value
    if let failure = state.failure { throw failure }
    return state
  }

  static func product(
    _ identifier: ProductIdentifier, _ type: ProductType = .nonConsumable, price: Price? = nil,
    contents: [ProductIdentifier] = []
  ) -> Product {
    Product(
      productIdentifier: identifier, type: type, texts: ["en": ProductText(title: "Title")],
      price: price,
      contents: contents.map { ContentOffer($0, version: "1.2", of: identifier) })
  }
}

/// A SQLite ledger that can hold its commits or its reads, and fail both.
final class TestDatabase: LedgerDatabase {
  struct State: Sendable {
    var writes = 0
    var reads = 0
    var isHeld = false
    var holdsReads = false
    var failure: ContentError?
  }

  let state = Watched(State())
  private let database: SQLiteLedger

  init(_ database: SQLiteLedger) { self.database = database }

  func write<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws -> Value {
    state.change { $0.writes += 1 }
    state.block { !$0.isHeld }
    if let failure = state.value.failure { throw failure }
    return try database.write(body)
  }

  func read<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws -> Value? {
    state.change { $0.reads += 1 }
    state.block { !$0.holdsReads }
    if let failure = state.value.failure { throw failure }
    return try database.read(body)
  }

  func close() { database.close() }
}

/// Decides all purchases in the same way, and counts them.
final class FixedDecider: PurchaseDecider {
  let asked = Watched<[PurchaseRequest]>([])
  private let decision: Result<PurchaseDecision, ContentError>

  init(_ decision: Result<PurchaseDecision, ContentError>) { self.decision = decision }

  func decide(_ request: PurchaseRequest) async throws -> PurchaseDecision {
    asked.change { $0.append(request) }
    return try decision.get()
  }
}

/// Keeps the purchases until the test answers.
final class WaitingDecider: PurchaseDecider {
  /// The number of purchases that it was asked about.
  let asked = Watched(0)
  private let approved = Watched(0)

  func decide(_ request: PurchaseRequest) async throws -> PurchaseDecision {
    asked.change { $0 += 1 }
    let number = asked.value
    await approved.wait { $0 >= number }
    return .approve()
  }

  /// Approves the purchases that it was asked about.
  func approve() { approved.change { $0 = asked.value } }
}

extension DeciderChain {
  /// A chain of one decider.
  static func only(_ decider: any PurchaseDecider) -> DeciderChain {
    DeciderChain([.decider(decider, name: "test")])
  }
}

extension ContentError {
  /// An error whose details must not be shown to clients.
  static let secretFailure = ContentError(
    .ledgerFailed, "/secret/path failed", remedy: "Secret remedy", cause: "secret cause")
}
