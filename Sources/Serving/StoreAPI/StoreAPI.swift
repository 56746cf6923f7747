package import FoundationEssentials
import HostedCOpenAPI
import HostedConcurrency
import HostedDigests
package import HostedHTTPValues
package import HostedModel
package import HostedShop

/// The HTTP API of a store server: maps requests to responses.
///
/// Thread-safe. `handle` may block on the ledger, so call it from threads that may block. What may
/// wait for the store runs on threads of its own.
package final class StoreAPI: Sendable {
  let ledger: Ledger
  let shop: Shop
  let catalog: any ListedCatalog
  let configuration: Configuration
  private let now: @Sendable () -> Date
  private let authenticator: Authenticator
  let commits: CommitQueue
  /// For what may wait for the store.
  let lookups: CallThreads
  package let events: EventFeed
  private let grants: GrantIssuer

  /// The settings of a store server.
  package struct Configuration: Sendable {
    /// The URL under which clients reach the server, without a trailing slash; `aud` of JWTs.
    package var origin: String
    package var deciders = DeciderChain([.always])
    /// Signs the receipts of purchases; nil for no receipts.
    package var sign: (@Sendable (PurchaseRecord) throws -> String)?
    /// Identifies the key of `sign`, since lists change with it.
    package var signer = ""
    /// Returns why no sale can be proven now; nil if the server may sell.
    package var obstacle: @Sendable () -> ContentError? = { nil }
    /// Nil: packages are public.
    package var gate: ContentGate?
    /// Called with each failure of the server itself, on any thread; clients get no details.
    package var report: @Sendable (ContentError) -> Void = { _ in }

    package init(origin: String) { self.origin = origin }
  }

  /// Takes the response to a request, on any thread.
  package typealias Respond = @Sendable (HTTPResponse<APIBody>) -> Void

  private static let lookupThreads = 4

  /// Creates the API and starts its threads; throws `tooFewThreads` if it cannot.
  package init(
    _ ledger: Ledger, catalog: any ListedCatalog, configuration: Configuration,
    now: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    self.ledger = ledger
    self.catalog = catalog
    self.configuration = configuration
    self.now = now
    authenticator = Authenticator(ledger: ledger, audience: configuration.origin)
    grants = GrantIssuer(configuration.gate, ledger: ledger, catalog: catalog, now: now)
    let sign = configuration.sign
    let events = EventFeed(
      ledger, sign: { try $0.signed(by: sign) }, now: now, report: configuration.report)
    let lookups = try CallThreads(count: Self.lookupThreads)
    let commits = try CommitQueue(ledger, now: now, report: configuration.report) { events.wake() }
    var settings = Shop.Settings(catalog: catalog, deciders: configuration.deciders) {
      commits.add($0, completion: $1)
    }
    settings.sign = sign
    settings.obstacle = configuration.obstacle
    settings.lookUp = { lookups.run($0) }
    shop = Shop(ledger, settings)
    (self.lookups, self.commits, self.events) = (lookups, commits, events)
  }

  deinit { close() }

  /// Makes the changes of requests in progress, and ends all event streams and waiting requests.
  ///
  /// Waits for the catalog. Later requests that need it, the ledger's writer or the events fail.
  package func close() {
    lookups.close()
    commits.close()
    events.close()
  }

  /// Handles a request; calls `respond` once, on any thread, maybe before it returns.
  package func handle(_ request: HTTPRequest, respond: @escaping Respond) {
    do {
      guard let location = request.location else {
        throw Problem.malformed("its target is malformed")
      }
      if let response = immediateResponse(to: request) { return respond(response) }
      let route = try Route(request.method, location.components)
      guard let scopes = route.operation.scopes else {
        return respond(try openResponse(route.operation))
      }
      let caller = try authenticator.caller(request.headers["authorization"], at: now())
      // Without a gate, the response grants nothing.
      let isOpen = route.operation == .grant && !grants.isGated
      guard isOpen || !scopes.isDisjoint(with: caller.scopes) else {
        let names = scopes.map(\.rawValue).sorted().joined(separator: " or ")
        throw Problem.forbidden(
          "The caller does not have the scope \(names)", remedy: "Use a key with this scope")
      }
      try serve(
        Call(request: request, location: location, route: route, access: caller.access), respond)
    } catch {
      respond(problem(error).response)
    }
  }

  /// The problem for any error; a failure of the server itself is reported.
  func problem(_ error: any Error) -> Problem { Problem(error, report: configuration.report) }
}

/// A request of an authenticated caller.
struct Call: Sendable {
  let request: HTTPRequest
  let location: RequestLocation
  let route: Route
  let access: AccountAccess
}

extension StoreAPI {
  /// Responds, or throws before it responds.
  private func serve(_ call: Call, _ respond: @escaping Respond) throws {
    let (request, access, name) = (call.request, call.access, call.route.name)
    try call.location.requireSingleParameters()
    switch call.route.operation {
    case .purchase: try purchase(call, respond)
    case .batch: try purchaseBatch(call, respond)
    case .transaction:
      respond(.json(200, try shop.signed(purchase(name, for: access)).json))
    case .finish: try finish(name, for: access, respond)
    case .approve: try change(call, .approve, respond)
    case .reverse: try change(call, .reverse, respond)
    case .decline: try change(call, .decline(reason: try reason(request)), respond)
    case .refund: try change(call, .refund(reason: try reason(request)), respond)
    case .revoke: try change(call, .revoke(reason: try reason(request)), respond)
    case .products: try lookUp(respond) { [self] in try products(call) }
    case .entitlements: respond(try purchases(call, all: false))
    case .history: respond(try purchases(call, all: true))
    case .erase: erase(try access.account(name), respond)
    case .events: try serveEvents(call, respond)
    case .grant:
      let body = try request.json()
      try lookUp(respond) { [grants] in try grants.grant(body, for: access) }
    case .health, .readiness, .description, .authorize:
      respond(try openResponse(call.route.operation))
    }
  }

  /// Responds with the result of `body`, which may wait for the store.
  private func lookUp(
    _ respond: @escaping Respond,
    _ body: @escaping @Sendable () throws -> HTTPResponse<APIBody>
  ) throws {
    let isAdded = lookups.run { [self] in
      do { respond(try body()) } catch { respond(problem(error).response) }
    }
    if !isAdded { throw Problem.tooManyLookups }
  }

  /// The response to a request that needs no key and is not answered at once.
  private func openResponse(_ operation: Route.Operation) throws -> HTTPResponse<APIBody> {
    if operation == .description {
      return HTTPResponse(
        200, headers: ["Content-Type": "application/json"], OpenAPIDocument.bytes)
    }
    guard try ledger.head() != nil else { throw Problem.ledgerUnavailable }
    _ = try catalog.version
    if let obstacle = shop.obstacle { throw obstacle }
    return .json(200, .object(["status": .string("ready")]))
  }

  /// Returns the response to a request whose answer waits for nothing; nil for others.
  package func immediateResponse(to request: HTTPRequest) -> HTTPResponse<APIBody>? {
    guard request.method == "GET" || request.method == "HEAD",
      let components = request.location?.components
    else { return nil }
    switch components {
    case ["healthz"]: return .json(200, .object(["status": .string("ok")]))
    case ["internal", "authorize"]:
      return grants.authorize(originalURI: request.headers["x-original-uri"])
    default: return nil
    }
  }

  private func serveEvents(_ call: Call, _ respond: @escaping Respond)
    throws
  {
    let headers = call.request.headers
    let wait = try call.location.number("wait", 0...30, default: 0)
    let limit = try call.location.number("limit", 1...200, default: 200)
    let (last, after) = (headers["last-event-id"], call.location.parameter("after"))
    // Both are checked, whichever is used.
    let isContinued = try LedgerPosition.requested(last) != nil
    _ = try LedgerPosition.requested(after)
    if headers["accept"]?.contains("text/event-stream") == true {
      return respond(events.stream(after: isContinued ? last : after, viewer: call.access))
    }
    events.poll(
      after: after, viewer: call.access, wait: .seconds(wait), limit: Int(limit),
      respond: respond)
  }
}

// MARK: Lists

extension StoreAPI {
  private static let maximumProducts = 200
  /// The maximum length of the query of a link; proxies limit the head of a response.
  private static let maximumQuery = 2_000

  /// The purchases of an account; without `all`, only those that can be restored.
  private func purchases(_ call: Call, all: Bool) throws -> HTTPResponse<APIBody> {
    let account = try call.access.account(call.route.name)
    let since = try call.location.number("since", 0...Int64.max, default: 0)
    let limit = Int(try call.location.number("limit", 1...1_000, default: 1_000))
    let found = try ledger.purchases(account: account, after: since, limit: limit + 1, all: all)
    let page = found.prefix(limit)
    let revision = page.last?.revision ?? since
    let hasMore = found.count > limit
    let list = all ? "history" : "entitlements"
    let next =
      "/v1/accounts/\(PercentEncoding.component(call.route.name))/\(list)"
      + "?since=\(revision)&limit=\(limit)"
    func document(_ records: [PurchaseRecord]) -> JSONValue {
      .object([
        "transactions": .array(records.map(\.json)), "revision": .integer(revision),
        "hasMore": .bool(hasMore),
      ])
    }
    let unsigned = document(Array(page))
    let headers = HTTPHeaders(hasMore ? [.link(toNext: next)] : [])
    if all { return try .tagged(unsigned, to: call.request, headers: headers) }
    // Without receipts, since each has another signature.
    let tag = try Digest(of: unsigned.encoded + Array(configuration.signer.utf8)).hex
    return try .unchanged(tag, for: call.request)
      ?? .tagged(
        document(page.map { try shop.signed($0) }), tag, to: call.request, headers: headers)
  }

  /// A page of the named products, or of all.
  private func products(_ call: Call) throws -> HTTPResponse<APIBody> {
    // Read first: if the catalog changes now, the client asks once more than necessary.
    let version = try catalog.version
    let tag = PercentEncoding.component(version)
    let texts = Set(call.location.query.filter { $0.name == "id" }.map(\.value)).sorted()
    let cursor = call.location.parameter("cursor")
    let position = cursor.flatMap { try? ProductIdentifier(validating: $0) }
    guard cursor == nil || position != nil else {
      throw Problem.malformed("the cursor of the products is not from this API")
    }
    if let unchanged = HTTPResponse<APIBody>.unchanged(tag, for: call.request) { return unchanged }
    let named = texts.prefix(Self.maximumProducts)
    let known = Set(named.compactMap { try? ProductIdentifier(validating: $0) })
    let malformed = named.filter { (try? ProductIdentifier(validating: $0)) == nil }
    let found =
      try texts.isEmpty
      ? catalog.page(after: position, limit: Self.maximumProducts) : catalog.products(known)
    let products = found.products.sorted { $0.productIdentifier < $1.productIdentifier }
    let document = JSONValue.object([
      "products": .array(try products.map { try $0.json() }),
      "invalid": .array(Set(found.invalid + malformed).sorted().map { .string($0) }),
      "failures": .array(found.failures.map(\.json)),
      "version": .string(version),
    ])
    let query =
      try found.next.map { "cursor=\($0.rawValue)" }
      ?? Self.query(of: texts.dropFirst(Self.maximumProducts))
    let link = HTTPHeaders(query.map { [.link(toNext: "/v1/products?\($0)")] } ?? [])
    guard found.failures.isEmpty else {
      // Without an entity tag: the next look-up may succeed.
      return .json(200, document, headers: link)
    }
    return try .tagged(document, tag, to: call.request, headers: link)
  }

  /// The query for the products with the other identifiers, if there are any.
  private static func query(of others: ArraySlice<String>) throws -> String? {
    guard !others.isEmpty else { return nil }
    let query = others.map { "id=\(PercentEncoding.component($0))" }.joined(separator: "&")
    guard query.utf8.count <= maximumQuery else {
      throw Problem.malformed("it has too many parameters id")
    }
    return query
  }
}

extension Product {
  fileprivate func json() throws -> JSONValue {
    try JSONValue(parsing: Array(JSONEncoder().encode(self)))
  }
}

extension ContentError {
  /// Without the cause, which is for the operator.
  fileprivate var json: JSONValue {
    .object([
      "code": .integer(Int64(code.rawValue)), "message": .string(message),
      "remedy": .string(remedy), "subject": subject.map { .string($0) } ?? .null,
    ])
  }
}

/// The products that a server sells and lists.
///
/// Thread-safe; calls block.
package protocol ListedCatalog: SaleCatalog {
  /// Changes whenever a product changes.
  var version: String { get throws }
  /// Returns up to `limit` products after a position, or the first ones for nil.
  func page(after position: ProductIdentifier?, limit: Int) throws -> SaleProducts
  /// Returns every offered version of each content of `product`.
  func offers(of product: ProductIdentifier) throws -> [ContentOffer]
}

/// The description of the API (OpenAPI 3.1).
package enum OpenAPIDocument {
  /// The JSON of `Documentation/openapi.json`.
  package static let bytes = Array(String(cString: hc_openapi_document()).utf8)
}

/// Requests about single purchases.
extension StoreAPI {
  /// The maximum length of a purchase's body, in bytes.
  private static let maximumPurchase = 16 << 10
  private static let maximumBatch = 64

  func purchase(_ call: Call, _ respond: @escaping Respond) throws {
    let fields = try call.request.object(PurchaseRequest.members, limit: Self.maximumPurchase)
    let transaction = call.request.headers["idempotency-key"]
    let order = try PurchaseRequest(fields, transaction: transaction, for: call.access)
    shop.sell([order]) { [self] results in
      respond(
        response(to: results.first) { outcome in
          try outcome.isRepeated
            ? .json(200, json(outcome), headers: ["Idempotent-Replayed": "true"])
            : .json(201, json(outcome))
        })
    }
  }

  func purchaseBatch(_ call: Call, _ respond: @escaping Respond) throws {
    let entries = try call.request.object(["purchases"]).list("purchases", 1...Self.maximumBatch)
    let orders: [Result<PurchaseRequest, Problem>] = entries.map { entry in
      Result {
        let fields = try RequestFields(
          entry, of: "a purchase", PurchaseRequest.members.union(["transactionIdentifier"]))
        return try PurchaseRequest(
          fields, transaction: fields.text("transactionIdentifier", limit: 1_000),
          for: call.access)
      }.mapError(problem)
    }
    shop.sell(orders.compactMap { try? $0.get() }) { [self] sold in
      var sold = sold.makeIterator()
      let results = orders.map { order -> Result<(Int64, JSONValue), Problem> in
        Result {
          _ = try order.get()
          let outcome = try (sold.next() ?? .failure(.busy)).get()
          return (outcome.isRepeated ? 200 : 201, try json(outcome))
        }.mapError(problem)
      }
      let entries: [JSONValue] = results.map { result -> JSONValue in
        switch result {
        case .success(let (status, purchase)):
          .object(["status": .integer(status), "purchase": purchase])
        case .failure(let problem):
          .object(["status": .integer(Int64(problem.status)), "problem": problem.json])
        }
      }
      let delay = results.compactMap { result -> Int? in
        if case .failure(let problem) = result { problem.retryAfter } else { nil }
      }.max()
      let headers: HTTPHeaders = delay.map { ["Retry-After": "\($0)"] } ?? [:]
      respond(.json(200, .object(["results": .array(entries)]), headers: headers))
    }
  }

  /// Returns a purchase; another account's is not found.
  func purchase(_ transaction: String, for access: AccountAccess) throws -> PurchaseRecord {
    guard transaction.isVisibleIdentifier, let record = try ledger.purchase(transaction),
      access.mayUse(record.account)
    else { throw Problem.unknownTransaction }
    return record
  }

  // MARK: Changes

  func finish(
    _ transaction: String, for access: AccountAccess,
    _ respond: @escaping Respond
  ) throws {
    _ = try purchase(transaction, for: access)
    commit(.finish(transaction: transaction), respond) { _ in HTTPResponse(204) }
  }

  /// Changes a purchase; the caller's key is the actor.
  func change(
    _ call: Call, _ change: PurchaseChange, _ respond: @escaping Respond
  ) throws {
    let key = call.request.headers["idempotency-key"]
    if let key, !key.isVisibleIdentifier {
      throw Problem.malformed(
        "the Idempotency-Key is not 1 to 128 visible ASCII characters, or is “.” or “..”")
    }
    shop.change(
      TransactionID(rawValue: call.route.name), change, actor: call.access.kid, key: key
    ) { [self] result in
      respond(response(to: result) { .json(200, try json($0)) })
    }
  }

  /// The account gets a random name, which is not said.
  func erase(_ account: AccountID, _ respond: @escaping Respond) {
    commit(.erase(account: account), respond) {
      .json(200, .object(["purchases": .integer(Int64($0.sales))]))
    }
  }

  /// The reason in the optional body of a change.
  func reason(_ request: HTTPRequest) throws -> String {
    guard !request.body.isEmpty else { return "" }
    return try request.object(["reason"], limit: Self.maximumPurchase)
      .text("reason", limit: 1_000) ?? ""
  }

  private func commit(
    _ change: LedgerChange, _ respond: @escaping Respond,
    _ response: @escaping @Sendable (LedgerOutcome) throws -> HTTPResponse<APIBody>
  ) {
    commits.add([change]) { [self] in respond(self.response(to: $0.first, response)) }
  }

  /// The response to a request with one change.
  private func response(
    to result: Shop.SaleResult?, _ response: (LedgerOutcome) throws -> HTTPResponse<APIBody>
  ) -> HTTPResponse<APIBody> {
    do {
      return try response((result ?? .failure(.busy)).get())
    } catch {
      return problem(error).response
    }
  }

  /// The purchase as a JSON object, with a receipt.
  private func json(_ outcome: LedgerOutcome) throws -> JSONValue {
    try outcome.purchase.map { try shop.signed($0).json } ?? .null
  }
}
