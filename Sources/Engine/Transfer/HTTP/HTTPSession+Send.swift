import HostedHTTPValues
import HostedConcurrency
import HostedModel

extension HTTPSession {
  /// Sends a request, and returns the answer with any final status, such as 404.
  ///
  /// Blocks. Failed connections and temporary statuses (408, 425, 429, 5xx) are retried according
  /// to the retry policy. After 429 and 503, requests are retried until the deadline, as the pause
  /// of the host allows. Throws the last fault, `limitExceeded` for a body longer than `limit`,
  /// `timedOut` at the deadline unless a fault was the cause, `stopped` if the ticket is cancelled,
  /// and `usage` for malformed headers. Requests that are not repeatable have one attempt.
  package func send(_ request: TransferRequest) throws -> TransferResponse {
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
      let isOver = isWaiting ? isBusyTooLong(request.url, since: start) : failures >= attempts
      if isOver || fault.isLasting {
        try ticket.checkCancelled()
        // The earlier fault says more than that the time is over.
        let cause = lastFault ?? pause(at: request.url)?.fault
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
  ) -> TransferResponse {
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
  package func examine(_ request: TransferRequest) throws -> TransferResponse {
    try Self.check(request.headers, for: request.url)
    // The certificate is only known if the request opens a connection.
    let first = examine(request, isFresh: request.readsCertificate)
    guard let fault = first.fault, !fault.isLasting else { return first }
    return examine(request, isFresh: true)
  }

  private func examine(_ request: TransferRequest, isFresh: Bool) -> TransferResponse {
    let seconds = 60 + Double(request.limit) / 100_000
    var exchange = ExchangeRequest(request, deadline: loop.clock.uptime() + seconds)
    exchange.idleFactor = .infinity
    exchange.isFresh = isFresh
    let collector = ResponseCollector(request, isExamined: true, clock: loop.clock)
    return perform(
      exchange, collector, ticket: request.ticket ?? TransferTicket(priority: .max))
  }
}

extension ExchangeRequest {
  fileprivate init(_ request: TransferRequest, deadline: Double) {
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

extension TransferWait.Reason {
  /// Creates the reason why the next attempt after `fault` waits.
  init(_ fault: TransferFault, from url: WebURL) {
    let error = ContentError(fault, from: url, subject: url.description)
    self =
      fault.retryAfter == nil
      ? .retry(code: error.code, message: error.message)
      : .serverAsked(code: error.code, message: error.message)
  }
}
