import HostedConcurrency
package import HostedModel
package import FoundationEssentials
package import HostedLedger
package import HostedHTTPValues

/// The HTTP API of a store server: maps requests to responses.
///
/// Thread-safe. `handle` may block on the ledger, so call it from threads that may block. What may
/// wait for the store runs on threads of its own.
package final class StoreAPI: Sendable {
  let ledger: Ledger
  let catalog: any SaleCatalog
  let configuration: Configuration
  let now: @Sendable () -> Date
  let authenticator: Authenticator
  let commits: CommitQueue
  /// For what may wait for the store.
  let lookups: CallThreads
  package let events: EventFeed
  let grants: GrantIssuer
  /// The transactions that are being decided or committed.
  let pending = Mutex<Set<String>>([])

  /// The settings of a store server.
  package struct Configuration: Sendable {
    /// The URL under which clients reach the server, without a trailing slash; `aud` of JWTs.
    package var origin: String
    package var decider: any PurchaseDecider = ApprovingDecider()
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
    _ ledger: Ledger, catalog: any SaleCatalog, configuration: Configuration,
    now: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    self.ledger = ledger
    self.catalog = catalog
    self.configuration = configuration
    self.now = now
    authenticator = Authenticator(ledger: ledger, audience: configuration.origin)
    grants = GrantIssuer(configuration.gate, ledger: ledger, catalog: catalog, now: now)
    let events = EventFeed(ledger, now: now, report: configuration.report)
    self.events = events
    lookups = try CallThreads(count: Self.lookupThreads)
    commits = try CommitQueue(ledger, now: now, report: configuration.report) { events.wake() }
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
    case .transaction: respond(.json(200, try purchase(name, for: access).json))
    case .finish: try finish(name, for: access, respond)
    case .approve: change(name, .approve, respond)
    case .reverse: change(name, .reverse, respond)
    case .decline: change(name, .decline(reason: try reason(request)), respond)
    case .refund: change(name, .refund(reason: try reason(request)), respond)
    case .revoke: change(name, .revoke(reason: try reason(request)), respond)
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
    _ = try ledger.head()
    _ = try catalog.version
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
