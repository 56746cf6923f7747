import ContentModel
import Dispatch
import Concurrency

/// A request for a small answer, which is read into memory.
package struct HTTPRequest: Sendable {
  package var url: WebURL
  /// The method.
  ///
  /// Redirects are only followed for GET.
  package var method = "GET"
  /// The body, or nil for none; set its type with a header.
  package var body: [UInt8]?
  /// Whether a request with another method than GET may be retried.
  ///
  /// The server may then receive it several times.
  package var isRepeatable = false
  /// Headers in addition to those that are always sent.
  ///
  /// They are also sent after a redirect to another host, so secrets belong in
  /// `HTTPConfiguration.credentials`.
  package var headers: [HTTPHeader]
  /// The maximum bytes of the body; more throw `limitExceeded`.
  package var limit: Int
  /// The maximum time in seconds, including retries and waits.
  package var deadline = 90.0
  /// The maximum number of attempts, or nil for the session's retry policy.
  ///
  /// With the policy, answers 429 and 503 do not count as attempts.
  package var attempts: Int?
  /// Whether a web page is rejected as `answerUnusable`, since the file is not a web page.
  package var refusesPages = false
  /// Whether temporary statuses are also returned, for callers with their own retry policy.
  package var returnsEveryStatus = false
  /// The time in seconds in which an answer may be silent, or nil for the session's timeouts.
  ///
  /// For servers that answer when something happens.
  package var stallTimeout: Double?
  /// Stops the request and counts its bytes, or nil if neither is needed.
  package var ticket: TransferTicket?

  /// Creates a request for at most `limit` bytes of `url`.
  package init(_ url: WebURL, headers: [HTTPHeader] = [], limit: Int) {
    self.url = url
    self.headers = headers
    self.limit = limit
  }

  /// Whether another attempt could do something twice.
  fileprivate var isAttemptedOnce: Bool { method != "GET" && !isRepeatable }
}

/// The answer to a request.
package struct HTTPResponse: Sendable {
  /// The status, which another attempt would not change.
  package let status: Int
  /// The headers; names are in lower case.
  package let headers: [String: String]
  /// The body; for a status other than 2xx, as much of the error page as was read.
  package let body: [UInt8]
  /// The URL of the answer, after redirects.
  package let url: WebURL
  /// Whether an earlier attempt failed, which the server may have received.
  package internal(set) var isRepeated = false
}

extension HTTPSession {
  /// Fetches a small answer; see `send(_:)`.
  package func get(_ request: HTTPRequest) throws -> HTTPResponse { try send(request) }

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
    var exchange = ExchangeRequest(url: request.url, headers: request.headers)
    exchange.method = request.method
    exchange.body = request.body
    exchange.stallTimeout = request.stallTimeout
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
      guard let fault = end.fault else {
        var response = end.response
        response.isRepeated = lastFault != nil
        return response
      }
      let isWaiting = fault.isRefusal && maximum == nil
      if !isWaiting { failures += 1 }
      let isOver = isWaiting ? isBusyTooLong(request.url, since: start) : failures >= attempts
      if isOver || fault.isLasting {
        try ticket.checkCancelled()
        // The earlier fault says more than that the time is over.
        let cause = lastFault ?? pause(at: request.url)?.fault
        throw ContentError(
          fault.kind == .deadline ? cause ?? fault : fault, from: end.url,
          subject: request.url.description)
      }
      lastFault = fault
      exchange.isFresh = fault.mayBeOfAddress
      // The pause of a host that refuses applies to all requests to it.
      guard !fault.isRefusal else { continue }
      let delay = configuration.retry.delay(
        afterFailure: failures, retryAfter: fault.retryAfter, random: loop.random())
      exchange.postpone(after: fault, until: loop.clock.uptime() + delay, request.url)
    }
  }

  /// Returns a factor that grows with each attempt, so that a slow server gets more time.
  private func idleFactor(after failures: Int, of attempts: Int) -> Double {
    failures + 1 < attempts ? Double(1 << min(failures, 10)) : .infinity
  }

  /// Records whether a host can be reached, for all transfers of the session.
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
  /// Delays the request after `fault` until an uptime, and records the reason.
  mutating func postpone(after fault: TransferFault, until instant: Double, _ url: WebURL) {
    notBefore = instant
    reason = TransferWait.Reason(fault, from: url)
  }
}

extension TransferWait.Reason {
  /// Creates the reason why the next attempt after `fault` waits.
  init(_ fault: TransferFault, from url: WebURL) {
    let error = ContentError(fault, from: url, subject: url.description)
    self =
      fault.retryAfter == nil
      ? .retry(error.code, error.message) : .serverAsked(error.code, error.message)
  }
}

/// Collects a small body in memory; the caller waits for it.
private final class GetHandler: ExchangeHandler {
  struct Outcome {
    var fault: TransferFault?
    var url: WebURL
    var response: HTTPResponse
  }

  private struct State {
    var head = HTTPHead()
    var body: [UInt8] = []
    /// The bytes of an error page, including those that were not kept.
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

  /// The maximum bytes of an error page that are read to keep the connection.
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
    // An error page may have any length and encoding, since the status is the error.
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

  /// Keeps as much of an error page as would be read of the file.
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
