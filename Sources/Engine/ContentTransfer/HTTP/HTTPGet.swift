import ContentModel
import Dispatch
import Concurrency

/// A small answer that is wanted whole, in memory.
package struct HTTPRequest: Sendable {
  /// Where it is.
  package var url: WebURL
  /// Headers beside those that are always sent; other hosts see them too if it redirects there, so
  /// secrets belong into `HTTPConfiguration.credentials`.
  package var headers: [HTTPHeader]
  /// More bytes of body than this are `limitExceeded`.
  package var limit: Int
  /// Seconds for everything, retries and waits included.
  package var deadline = 90.0
  /// How often it is asked for at most; nil for the session's retry policy, by which 429 and 503
  /// are no attempts.
  package var attempts: Int?
  /// Whether a body that is a web page is refused as `answerUnusable`, since the file is not one.
  package var refusesPages = false
  /// Whether statuses that another attempt may change are returned as well, for callers who know
  /// better than the retry policy when to ask again.
  package var returnsEveryStatus = false
  /// Stops it and counts for it; nil for one that nobody stops.
  package var ticket: TransferTicket?

  /// Asks for at most `limit` bytes from `url`.
  package init(_ url: WebURL, headers: [HTTPHeader] = [], limit: Int) {
    self.url = url
    self.headers = headers
    self.limit = limit
  }
}

/// An answer.
package struct HTTPResponse: Sendable {
  /// The status, of any kind that another attempt would not change.
  package let status: Int
  /// Values by lower-cased name.
  package let headers: [String: String]
  /// The body; for a status other than 2xx what the server says about it, as far as it came.
  package let body: [UInt8]
  /// Where it came from, after redirects.
  package let url: WebURL
}

extension HTTPSession {
  /// Fetches a small answer and returns it with any status that is final, such as 404.
  ///
  /// Blocks. A connection that fails and a status that another attempt may change (408, 425, 429,
  /// 5xx) are tried again as the retry policy has it; after 429 and 503 until the deadline, at the
  /// time that the host's pause allows. Throws the last of them, `limitExceeded` for
  /// a body that is longer than `limit`, `timedOut` at the deadline unless a fault was what kept
  /// it, `stopped` when the ticket is cancelled, `usage` for malformed headers.
  package func get(_ request: HTTPRequest) throws -> HTTPResponse {
    try Self.check(request.headers, for: request.url)
    let ticket = request.ticket ?? TransferTicket(priority: .max)
    let attempts = max(1, request.attempts ?? configuration.retry.attempts)
    var exchange = ExchangeRequest(url: request.url, headers: request.headers)
    let start = loop.clock.uptime()
    exchange.deadline = start + request.deadline
    exchange.memory = min(request.limit, 1 << 20)
    var lastFault: TransferFault?
    var failures = 0
    while true {
      exchange.idleFactor = idleFactor(after: failures, of: attempts)
      let askedAt = loop.clock.uptime()
      let end = perform(exchange, request, ticket: ticket)
      note(end.fault, from: request.url.origin, startedAt: askedAt)
      guard let fault = end.fault else { return end.response }
      let isWaiting = fault.isRefusal && request.attempts == nil
      if !isWaiting { failures += 1 }
      let isOver = isWaiting ? isBusyTooLong(request.url, since: start) : failures >= attempts
      if isOver || fault.isLasting {
        try ticket.checkCancelled()
        // What kept it from arriving says more than that the time is over.
        let cause = lastFault ?? pause(at: request.url)?.fault
        throw ContentError(
          fault.kind == .deadline ? cause ?? fault : fault, from: end.url,
          subject: request.url.description)
      }
      lastFault = fault
      exchange.isFresh = fault.mayBeOfAddress
      // The pause of a host that refuses counts for every request to it.
      guard !fault.isRefusal else { continue }
      let delay = configuration.retry.delay(
        afterFailure: failures, retryAfter: fault.retryAfter, random: loop.random())
      exchange.postpone(after: fault, until: loop.clock.uptime() + delay, request.url)
    }
  }

  /// A slow server gets more time with each attempt, and all of it with the last one.
  private func idleFactor(after failures: Int, of attempts: Int) -> Double {
    failures + 1 < attempts ? Double(1 << min(failures, 10)) : .infinity
  }

  /// Takes note of whether a host can be reached, for all transfers of the session.
  private func note(_ fault: TransferFault?, from origin: String, startedAt start: Double) {
    if let fault {
      guard fault.concernsHost else { return }
      let (now, random) = (loop.clock.uptime(), loop.random())
      return health.withTable {
        $0.fail(origin, fault, startedAt: start, now: now, random: random)
      }
    }
    health.withTable {
      if $0.delay(of: origin)?.fault.concernsHost == true { $0.succeed(origin) }
    }
  }

  private func perform(
    _ exchange: ExchangeRequest, _ request: HTTPRequest, ticket: TransferTicket
  ) -> GetHandler.Outcome {
    let handler = GetHandler(request, clock: loop.clock)
    let id = loop.submit(exchange, ticket: ticket, handler: handler)
    let listener = ticket.addListener { [loop, owner = ticket.id] change in
      switch change {
      case .cancelled: loop.cancel(id)
      case .priority(let priority): loop.setPriority(priority, of: owner)
      }
    }
    defer { ticket.removeListener(listener) }
    return handler.wait()
  }
}

extension ExchangeRequest {
  /// Makes it wait after `fault` until an instant, and say why.
  mutating func postpone(after fault: TransferFault, until instant: Double, _ url: WebURL) {
    notBefore = instant
    reason = TransferWait.Reason(fault, from: url)
  }
}

extension TransferWait.Reason {
  /// Why the next attempt after `fault` waits.
  init(_ fault: TransferFault, from url: WebURL) {
    let error = ContentError(fault, from: url, subject: url.description)
    self =
      fault.retryAfter == nil
      ? .retry(error.code, error.message) : .serverAsked(error.code, error.message)
  }
}

/// Keeps a small body in memory; the caller waits for it.
private final class GetHandler: ExchangeHandler {
  struct Outcome {
    var fault: TransferFault?
    var url: WebURL
    var response: HTTPResponse
  }

  private struct State {
    var head = HTTPHead()
    var body: [UInt8] = []
    /// Bytes of an error page, kept or not.
    var received = 0
    var end: ExchangeEnd?
  }

  private let state = Mutex(State())
  private let hasEnded = DispatchSemaphore(value: 0)
  private let url: WebURL
  private let limit: Int
  private let refusesPages: Bool
  private let returnsEveryStatus: Bool
  private let clock: TransferClock

  /// So much of an error page is read in order to keep the connection.
  private static let errorPageLimit = 64 << 10

  init(_ request: HTTPRequest, clock: TransferClock) {
    url = request.url
    limit = request.limit
    refusesPages = request.refusesPages
    returnsEveryStatus = request.returnsEveryStatus
    self.clock = clock
  }

  func receive(_ head: HTTPHead) -> TransferFault? {
    state.withLock { $0.head = head }
    if !returnsEveryStatus, TransferFault.isTemporary(head.status) {
      return TransferFault(
        .status(head.status),
        retryAfter: RetryPolicy.retryAfter(head["retry-after"], now: clock.now()))
    }
    // The status says what is wrong; its page may be of any length and coding.
    guard head.isSuccess else { return nil }
    if let coding = head["content-encoding"], coding.lowercased() != "identity" {
      return TransferFault(.encoded(coding))
    }
    if let length = head.contentLength, length > limit { return tooLong(head, []) }
    return nil
  }

  func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer {
    state.withLock { state in
      guard state.head.isSuccess else { return takeErrorPage(body, &state) }
      guard body.count <= limit - state.body.count else {
        return .refused(tooLong(state.head, state.body + body))
      }
      state.body += body
      return .taken
    }
  }

  /// Keeps as much of an error page as the caller would read of the file.
  private func takeErrorPage(_ body: UnsafeRawBufferPointer, _ state: inout State) -> BodyAnswer {
    state.body += body.prefix(limit - state.body.count)
    state.received += body.count
    let length = state.head.contentLength ?? 0
    return max(Int64(state.received), length) > Self.errorPageLimit ? .complete : .taken
  }

  private func tooLong(_ head: HTTPHead, _ body: [UInt8]) -> TransferFault {
    if refusesPages, let page = head.isPage ? "text/html" : WebPage.type(of: body) {
      return TransferFault(.unexpectedType(page))
    }
    return TransferFault(.bodyTooLong, "More than \(limit) bytes")
  }

  func end(_ end: ExchangeEnd) {
    state.withLock { state in
      state.end = end
      guard refusesPages, end.fault == nil, state.head.isSuccess,
        let page = WebPage.type(of: state.body)
      else { return }
      state.end?.fault = TransferFault(.unexpectedType(page))
    }
    hasEnded.signal()
  }

  func wait() -> Outcome {
    hasEnded.wait()
    return state.withLock { state in
      let url = state.end?.url ?? url
      return Outcome(
        fault: state.end?.fault, url: url,
        response: HTTPResponse(
          status: state.head.status, headers: state.head.headers, body: state.body, url: url))
    }
  }
}
