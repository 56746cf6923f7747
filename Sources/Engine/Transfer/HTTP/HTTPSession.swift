import Dispatch
package import HostedConcurrency
import HostedModel

/// An HTTP client with shared connections, limits and statistics.
///
/// Its methods block the caller, while a separate thread transfers the data. Any number of threads
/// can use it at the same time. The thread starts with the first request and ends with the session.
package final class HTTPSession: Sendable {
  package let configuration: HTTPConfiguration
  let loop: TransferLoop
  /// The hosts that could not be reached recently, by origin.
  let health = Mutex<[String: Health]>([:])
  let rates = HostRates()
  /// Memory for small files, 16 of which are fetched at a time.
  let slabs = SlabPool(limit: 2 << 20)

  /// Creates a session without connecting.
  ///
  /// Tests pass a clock and a source of randomness. `pauses` are the hosts that currently refuse
  /// requests; the sessions of a process share them. Throws `usage` for malformed headers, and
  /// `insecureConnectionRefused` for secrets that would be sent unencrypted to another machine.
  package init(
    _ configuration: HTTPConfiguration = HTTPConfiguration(), clock: EngineClock = .system,
    pauses: HostPauses = HostPauses(),
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) throws {
    for host in configuration.credentials.map(\.host) {
      try Self.check(configuration.secrets(for: host), for: host)
    }
    try configuration.checkSecrets()
    self.configuration = configuration
    loop = TransferLoop(configuration, clock: clock, pauses: pauses, random: random)
  }

  deinit { loop.close() }

  /// Throws `usage` for a malformed header; a line break in it would start another header.
  static func check(_ headers: [HTTPHeader], for url: WebURL) throws {
    guard !headers.allSatisfy(\.isWellFormed) else { return }
    throw ContentError(
      .usage, "A header for \(url.origin) contains an invalid character",
      remedy: "Remove line breaks and control characters from it", subject: url.origin)
  }

  /// The limits of concurrency and rate; a change applies at once, also to running requests.
  package var limits: TransferLimits {
    get { loop.limits }
    set { loop.limits = newValue }
  }

  /// Returns the pause of the host of `address` if it has refused requests recently.
  func pause(at address: WebURL) -> HostPause? {
    loop.pauses.pause(of: address.origin, at: loop.clock.uptime())
  }

  /// Returns the state of the host of `address`.
  func host(of address: WebURL) -> HostStatus {
    HostStatus(
      health: health.withLock { $0[address.origin] } ?? Health(), pause: pause(at: address),
      isNear: loop.distances.isShort(to: address.origin))
  }

  /// Returns how many requests for one package run at `address`, and how many each replaces.
  func connections(to address: WebURL) -> (count: Int, insteadOf: Int) {
    host(of: address).connections(limits)
  }

  /// Records whether the host of a request that was sent at `start` can be reached.
  ///
  /// A fault of something else changes nothing.
  func note(_ fault: TransferFault?, from origin: String, startedAt start: Double) {
    guard let fault else { return health.withLock { $0[origin] = nil } }
    guard fault.concernsHost else { return }
    let (now, random) = (loop.clock.uptime(), loop.random())
    health.withLock {
      $0[origin, default: Health()].fail(
        fault, startedAt: start, now: now, configuration.retry, random: random)
    }
  }

  /// The statistics of all transfers.
  package var statistics: TransferStatistics { loop.counters.statistics }

  /// Ends all requests.
  ///
  /// Waiting callers get `stopped`, now and later.
  package func close() { loop.close() }

  // MARK: Small answers

  /// Sends a request, and returns the answer with any final status, such as 404.
  ///
  /// Blocks. Failed connections and temporary statuses (408, 425, 429, 5xx) are retried according
  /// to the retry policy. After 429 and 503, requests are retried until the deadline, as the pause
  /// of the host allows. Throws the last fault, `limitExceeded` for a body longer than `limit`,
  /// `timedOut` at the deadline unless a fault was the cause, `stopped` if the ticket is cancelled,
  /// and `usage` for malformed headers. Requests that are not repeatable have one attempt.
  package func send(_ request: HTTPRequest) throws -> HTTPResponse {
    try Self.check(request.headers, for: request.url)
    let ticket = request.ticket ?? TransferTicket(priority: .max)
    let maximum = request.isAttemptedOnce ? 1 : request.attempts
    let attempts = max(1, maximum ?? configuration.retry.attempts)
    let start = loop.clock.uptime()
    var exchange = ExchangeRequest(request, deadline: start + request.deadline)
    var lastFault: TransferFault?
    var failures = 0
    while true {
      exchange.idleFactor = idleFactor(after: failures, of: attempts)
      let askedAt = loop.clock.uptime()
      let collector = ResponseCollector(request, clock: loop.clock)
      var response = perform(exchange, collector, ticket: ticket)
      note(response.fault, from: request.url.origin, startedAt: askedAt)
      guard let fault = response.fault else {
        response.isRepeated = lastFault != nil
        return response
      }
      let isWaiting = fault.isRefusal && maximum == nil
      if !isWaiting { failures += 1 }
      let host = host(of: request.url)
      let isOver =
        isWaiting
        ? host.isBusyTooLong(since: start, at: loop.clock.uptime(), configuration.retry)
        : failures >= attempts
      if isOver || fault.isLasting {
        try ticket.checkCancelled()
        // The earlier fault says more than that the time is over.
        let cause = lastFault ?? host.pause?.fault
        throw ContentError(
          fault.kind == .deadline ? cause ?? fault : fault, from: response.url,
          subject: request.url.description)
      }
      lastFault = fault
      exchange.isFresh = fault.mayBeOfAddress
      // The pause of a host that refuses applies to all requests to it.
      guard !fault.isRefusal else { continue }
      let delay = configuration.retry.delay(
        afterFailure: failures, retryAfter: fault.retryAfter, random: loop.random())
      exchange.notBefore = loop.clock.uptime() + delay
      exchange.reason = TransferWait.Reason(fault, from: request.url)
    }
  }

  /// Returns a factor that grows with each attempt, so that a slow server gets more time.
  private func idleFactor(after failures: Int, of attempts: Int) -> Double {
    failures + 1 < attempts ? Double(1 << min(failures, 10)) : .infinity
  }

  /// Sends `exchange`, and waits for the answer.
  private func perform(
    _ exchange: ExchangeRequest, _ collector: ResponseCollector, ticket: TransferTicket
  ) -> HTTPResponse {
    let id = loop.submit(exchange, ticket: ticket, handler: collector)
    let listener = ticket.addListener { [loop] in loop.cancel(id) }
    defer { ticket.removeListener(listener) }
    return collector.wait()
  }

  // MARK: Examining

  /// Sends `request`, and returns the answer with any status, encoding, length and fault.
  ///
  /// Blocks. The body is read up to the limit. A fault that may be temporary is retried once. Each
  /// attempt may take a minute and the time of the body at 100 kB/s; the request's own deadline is
  /// not used. Throws `usage` for malformed headers.
  package func examine(_ request: HTTPRequest) throws -> HTTPResponse {
    try Self.check(request.headers, for: request.url)
    // The certificate is only known if the request opens a connection.
    let first = examine(request, isFresh: request.readsCertificate)
    guard let fault = first.fault, !fault.isLasting else { return first }
    return examine(request, isFresh: true)
  }

  private func examine(_ request: HTTPRequest, isFresh: Bool) -> HTTPResponse {
    let seconds = 60 + Double(request.limit) / 100_000
    var exchange = ExchangeRequest(request, deadline: loop.clock.uptime() + seconds)
    exchange.idleFactor = .infinity
    exchange.isFresh = isFresh
    let collector = ResponseCollector(request, isExamined: true, clock: loop.clock)
    return perform(
      exchange, collector, ticket: request.ticket ?? TransferTicket(priority: .max))
  }

  // MARK: Mirrors

  /// Returns `mirrors` with recently failed hosts last.
  package func ordered(_ mirrors: [WebURL]) -> [WebURL] {
    guard mirrors.count > 1 else { return mirrors }
    let failures = health.withLock { table in mirrors.map { table[$0.origin]?.failures ?? 0 } }
    let order = mirrors.indices.sorted { (failures[$0], $0) < (failures[$1], $1) }
    return order.map { mirrors[$0] }
  }

  /// Returns all bytes of the file at `path` below `mirror`, or nil if it does not exist.
  ///
  /// Blocks. Makes at most `attempts` attempts, by default those of the retry policy. Throws
  /// `limitExceeded` for more than `limit` bytes, `answerUnusable` for a web page instead of the
  /// file, and the errors of `send`.
  package func contents(
    of path: String, at mirror: WebURL, limit: Int, attempts: Int? = nil,
    headers: [HTTPHeader] = []
  ) throws -> [UInt8]? {
    var request = HTTPRequest(try mirror.appending(path), headers: headers, limit: limit)
    request.attempts = attempts
    request.refusesPages = true
    let response = try send(request)
    switch response.status {
    case 200, 203: return response.body
    case 404, 410: return nil
    // Buckets answer 403 for a missing file if the client may not list them.
    case 403 where configuration.secrets(for: mirror).isEmpty: return nil
    default:
      let fault = TransferFault(response)
      throw ContentError(fault, from: response.url, subject: request.url.description)
    }
  }
}

extension ExchangeRequest {
  fileprivate init(_ request: HTTPRequest, deadline: Double) {
    url = request.url
    method = request.method
    headers = request.headers
    body = request.body
    self.deadline = deadline
    memory = min(request.limit, 1 << 20)
    stallTimeout = request.stallTimeout
    readsCertificate = request.readsCertificate
  }
}

/// Collects an answer in memory; the caller waits for it.
private final class ResponseCollector: ExchangeHandler {
  private struct State {
    var response: HTTPResponse
    /// The bytes of the body, including those that were not kept.
    var received = 0
  }

  private let state: Mutex<State>
  private let hasEnded = DispatchSemaphore(value: 0)
  private let request: HTTPRequest
  private let isExamined: Bool
  private let clock: EngineClock

  /// The maximum bytes of an error page that are read to keep the connection.
  private static let errorPageLimit = 64 << 10

  /// Creates a handler for an answer to `request`.
  ///
  /// No status, encoding or length of an answer that is examined is a fault.
  init(_ request: HTTPRequest, isExamined: Bool = false, clock: EngineClock) {
    state = Mutex(State(response: HTTPResponse(from: request.url)))
    self.request = request
    self.isExamined = isExamined
    self.clock = clock
  }

  func receive(_ head: HTTPHead) -> TransferFault? {
    state.withLock { $0.response.head = head }
    if isExamined { return nil }
    if !request.returnsEveryStatus, TransferFault.isTemporary(head.status) {
      return TransferFault(statusOf: head, now: clock.now())
    }
    // An error page may have any length and encoding, since the status is the error.
    guard head.isSuccess else { return nil }
    if let encoding = head.encoding { return TransferFault(.encoded(encoding)) }
    if let length = head.contentLength, length > request.limit { return tooLong(head, []) }
    return nil
  }

  func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer {
    state.withLock { state in
      let head = state.response.head
      let room = request.limit - state.response.body.count
      if body.count > room, head.isSuccess, !isExamined {
        return .refused(tooLong(head, state.response.body + body))
      }
      state.response.body += body.prefix(room)
      state.received += body.count
      if body.count > room { state.response.isCut = true }
      if isExamined { return state.response.isCut ? .complete : .taken }
      let length = max(Int64(state.received), head.contentLength ?? 0)
      return !head.isSuccess && length > Self.errorPageLimit ? .complete : .taken
    }
  }

  private func tooLong(_ head: HTTPHead, _ body: [UInt8]) -> TransferFault {
    if request.refusesPages, let page = head.isPage ? "text/html" : WebPage.type(of: body) {
      return TransferFault(.unexpectedType(page))
    }
    return TransferFault(.bodyTooLong, "More than \(request.limit) bytes")
  }

  func end(_ end: ExchangeEnd) {
    state.withLock { state in
      state.response.url = end.url
      state.response.certificateExpiry = end.certificateExpiry
      state.response.fault = end.fault
      guard request.refusesPages, end.fault == nil, state.response.head.isSuccess,
        let page = WebPage.type(of: state.response.body)
      else { return }
      state.response.fault = TransferFault(.unexpectedType(page))
    }
    hasEnded.signal()
  }

  func wait() -> HTTPResponse {
    hasEnded.wait()
    return state.withLock { $0.response }
  }
}
