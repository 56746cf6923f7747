package import HostedHTTPValues
package import HostedConcurrency
import HostedModel

/// An HTTP client with shared connections, limits and statistics.
///
/// A separate thread transfers the data and starts retries. It starts with the first request and
/// ends with the session. Any number of threads and tasks can use a session at the same time.
package final class HTTPSession: Sendable {
  package let configuration: HTTPConfiguration
  let loop: TransferLoop
  /// The hosts that could not be reached recently, by origin.
  let health = HostHealth()
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

  func host(of address: WebURL) -> HostStatus {
    HostStatus(
      health: health[address.origin] ?? Health(),
      pause: loop.pauses.pause(of: address.origin, at: loop.clock.uptime()),
      isNear: loop.distances.isShort(to: address.origin))
  }

  /// Returns how many requests for one package run at `address`, and how many each replaces.
  func connections(to address: WebURL) -> (count: Int, insteadOf: Int) {
    host(of: address).connections(limits)
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
  /// Blocks; a task calls `response(to:)`. Failed connections and temporary statuses (408, 425,
  /// 429, 5xx) are retried according to the retry policy. After 429 and 503, requests are retried
  /// until the deadline, as the pause of the host allows. Throws the last fault, `limitExceeded`
  /// for a body longer than `limit`, `timedOut` at the deadline unless a fault was the cause,
  /// `stopped` if the ticket is cancelled, and `usage` for malformed headers. Requests that are not
  /// repeatable have one attempt.
  package func send(_ request: TransferRequest) throws -> TransferResponse {
    let results = BlockingQueue<Result<TransferResponse, any Error>>()
    send(request) { results.add($0) }
    // The queue is never closed, so it has an element.
    return try (results.next() ?? .failure(CancellationError())).get()
  }

  /// Sends a request like `send`, and calls `completion` once with the result.
  ///
  /// It may be called before this returns, or on the session's thread, which it must not block.
  package func send(
    _ request: TransferRequest,
    completion: @escaping @Sendable (Result<TransferResponse, any Error>) -> Void
  ) {
    do {
      try Self.check(request.headers, for: request.url)
      RequestRun(request, on: loop, health, completion).start()
    } catch {
      completion(.failure(error))
    }
  }

  /// Sends a request like `send`, without blocking a thread.
  ///
  /// Cancelling the task does not end the request; cancelling the ticket of the request does.
  package func response(to request: TransferRequest) async throws -> TransferResponse {
    try await withCheckedThrowingContinuation { continuation in
      send(request) { continuation.resume(with: $0) }
    }
  }

  /// Sends `request`, and returns the answer with any status, encoding, length and fault.
  ///
  /// Blocks. The body is read up to the limit. A fault that may be temporary is retried once. Each
  /// attempt may take a minute and the time of the body at 100 kB/s; the request's own deadline is
  /// not used. Throws `usage` for malformed headers.
  package func examine(_ request: TransferRequest) throws -> TransferResponse {
    var request = request
    request.isExamined = true
    return try send(request)
  }

  // MARK: Mirrors

  /// Returns `mirrors` with recently failed hosts last.
  package func ordered(_ mirrors: [WebURL]) -> [WebURL] {
    guard mirrors.count > 1 else { return mirrors }
    let failures = mirrors.map { health[$0.origin]?.failures ?? 0 }
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
    var request = TransferRequest(try mirror.appending(path), headers: headers, limit: limit)
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

/// Sends one request for a small answer, and its retries, without blocking a thread.
///
/// The end of an attempt starts the next one on the loop's thread. It does not keep the session
/// open.
private final class RequestRun: Sendable {
  typealias Completion = @Sendable (Result<TransferResponse, any Error>) -> Void

  private struct State {
    var attempts: RequestAttempts
    /// The uptime at which the last attempt was submitted.
    var askedAt = 0.0
    /// The number of the last attempt in the loop.
    var id = 0
    var isCancelled = false
    /// The number of the ticket's listener.
    var listener: Int?
  }

  private let request: TransferRequest
  private let ticket: TransferTicket
  private let loop: TransferLoop
  private let health: HostHealth
  private let completion: Completion
  private let state: Mutex<State>

  /// `completion` is called once, on any thread, and must not block.
  init(
    _ request: TransferRequest, on loop: TransferLoop, _ health: HostHealth,
    _ completion: @escaping Completion
  ) {
    self.request = request
    self.loop = loop
    self.health = health
    self.completion = completion
    ticket = request.ticket ?? TransferTicket(priority: .max)
    let now = loop.clock.uptime()
    state = Mutex(State(attempts: RequestAttempts(request, loop.configuration.retry, now: now)))
  }

  func start() {
    let listener = ticket.addListener { [self] in cancel() }
    state.withLock { $0.listener = listener }
    attempt()
  }

  private func cancel() {
    let id = state.withLock { state in
      state.isCancelled = true
      return state.id
    }
    loop.cancel(id)
  }

  private func attempt() {
    let now = loop.clock.uptime()
    let exchange = state.withLock { state in
      state.askedAt = now
      return state.attempts.exchange
    }
    let collector = ResponseCollector(request, clock: loop.clock) { self.end($0) }
    let id = loop.submit(exchange, ticket: ticket, handler: collector)
    // The attempt may have ended, and the next one may have a higher number.
    let isCancelled = state.withLock { state in
      state.id = max(state.id, id)
      return state.isCancelled
    }
    if isCancelled { loop.cancel(id) }
  }

  /// Handles the end of an attempt.
  private func end(_ response: TransferResponse) {
    let origin = request.url.origin
    if !request.isExamined {
      let askedAt = state.withLock { $0.askedAt }
      health.note(response.fault, from: origin, startedAt: askedAt, on: loop)
    }
    let now = loop.clock.uptime()
    let pause = loop.pauses.pause(of: origin, at: now)
    // After a refusal, the pause of the host is the delay.
    let isDelayed = response.fault.map { !$0.isRefusal } ?? false
    let random = isDelayed ? loop.random() : 0
    let (result, listener) = state.withLock { state in
      (state.attempts.end(response, pause, now: now, random: random), state.listener)
    }
    guard let result else { return attempt() }
    if let listener { ticket.removeListener(listener) }
    completion(
      Result {
        // The error of a cancelled ticket says more than that of its request.
        if case .failure = result { try ticket.checkCancelled() }
        return try result.get()
      })
  }
}

/// Decides after each attempt of a request whether there is another one; pure.
private struct RequestAttempts {
  /// The next attempt.
  private(set) var exchange: ExchangeRequest
  private let request: TransferRequest
  private let retry: RetryPolicy
  private let start: Double
  /// The maximum number of attempts, or nil for that of the policy, without refusals.
  private let maximum: Int?
  private var failures = 0
  private var lastFault: TransferFault?

  /// The number of attempts of an examination.
  private static let examinations = 2

  init(_ request: TransferRequest, _ retry: RetryPolicy, now: Double) {
    self.request = request
    self.retry = retry
    start = now
    maximum = request.isAttemptedOnce ? 1 : request.attempts
    exchange = ExchangeRequest(request)
    if request.isExamined {
      examine(at: now)
      // The certificate is only known if the request opens a connection.
      exchange.isFresh = request.readsCertificate
    } else {
      exchange.deadline = start + request.deadline
      exchange.idleFactor = idleFactor
    }
  }

  private var attempts: Int { max(1, maximum ?? retry.attempts) }

  /// A factor that grows with each attempt, so that a slow server gets more time.
  private var idleFactor: Double {
    failures + 1 < attempts ? Double(1 << min(failures, 10)) : .infinity
  }

  private mutating func examine(at now: Double) {
    exchange.deadline = now + 60 + Double(request.limit) / 100_000
    exchange.idleFactor = .infinity
  }

  /// Returns the end after an attempt with `response`, or nil if `exchange` follows.
  ///
  /// `pause` is that of the host. `random` is from 0 to 1.
  mutating func end(
    _ response: TransferResponse, _ pause: HostPause?, now: Double, random: Double
  ) -> Result<TransferResponse, ContentError>? {
    guard let fault = response.fault else {
      var response = response
      response.isRepeated = !request.isExamined && lastFault != nil
      return .success(response)
    }
    guard !request.isExamined else {
      failures += 1
      if fault.isLasting || failures == Self.examinations { return .success(response) }
      examine(at: now)
      exchange.isFresh = true
      return nil
    }
    let isWaiting = fault.isRefusal && maximum == nil
    if !isWaiting { failures += 1 }
    let isOver =
      isWaiting
      ? HostStatus(pause: pause).isBusyTooLong(since: start, at: now, retry)
      : failures >= attempts
    if isOver || fault.isLasting {
      // The earlier fault says more than that the time is over.
      let cause = lastFault ?? pause?.fault
      return .failure(
        ContentError(
          fault.kind == .deadline ? cause ?? fault : fault, from: response.url,
          subject: request.url.description))
    }
    lastFault = fault
    exchange.idleFactor = idleFactor
    exchange.isFresh = fault.mayBeOfAddress
    // The pause of a host that refuses applies to all requests to it.
    if fault.isRefusal { return nil }
    let delay = retry.delay(afterFailure: failures, retryAfter: fault.retryAfter, random: random)
    exchange.notBefore = now + delay
    exchange.reason = TransferWait.Reason(fault, from: request.url)
    return nil
  }
}

extension ExchangeRequest {
  fileprivate init(_ request: TransferRequest) {
    url = request.url
    method = request.method
    headers = request.headers
    body = request.body
    memory = min(request.limit, 1 << 20)
    stallTimeout = request.stallTimeout
    readsCertificate = request.readsCertificate
  }
}

/// Collects an answer in memory.
private final class ResponseCollector: ExchangeHandler {
  private struct State {
    var response: TransferResponse
    /// The bytes of the body, including those that were not kept.
    var received = 0
  }

  private let state: Mutex<State>
  private let request: TransferRequest
  private let clock: EngineClock
  private let completion: @Sendable (TransferResponse) -> Void

  /// The maximum bytes of an error page that are read to keep the connection.
  private static let errorPageLimit = 64 << 10

  /// Creates a handler for an answer to `request`.
  ///
  /// No status, encoding or length of an answer that is examined is a fault. `completion` is called
  /// on the loop's thread, and must not block.
  init(
    _ request: TransferRequest, clock: EngineClock,
    completion: @escaping @Sendable (TransferResponse) -> Void
  ) {
    state = Mutex(State(response: TransferResponse(from: request.url)))
    self.request = request
    self.clock = clock
    self.completion = completion
  }

  func receive(_ head: HTTPHead) -> TransferFault? {
    state.withLock { $0.response.message.head = head }
    if request.isExamined { return nil }
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
      if body.count > room, head.isSuccess, !request.isExamined {
        return .refused(tooLong(head, state.response.body + body))
      }
      state.response.message.body += body.prefix(room)
      state.received += body.count
      if body.count > room { state.response.isCut = true }
      if request.isExamined { return state.response.isCut ? .complete : .taken }
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
    let response = state.withLock { state in
      state.response.url = end.url
      state.response.certificateExpiry = end.certificateExpiry
      state.response.fault = end.fault
      if request.refusesPages, end.fault == nil, state.response.head.isSuccess,
        let page = WebPage.type(of: state.response.body)
      {
        state.response.fault = TransferFault(.unexpectedType(page))
      }
      return state.response
    }
    completion(response)
  }
}
