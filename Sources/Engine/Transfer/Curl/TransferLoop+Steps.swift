import HostedHTTPValues
import HostedCCurl
import HostedConcurrency

/// The steps of the loop's thread: starting, pausing, aborting and ending requests.
extension TransferLoop {
  private static let idleHandleLimit = 16

  // MARK: Starting

  /// Starts the requests that the schedule allows.
  func startDue(_ now: Double) {
    let closed = schedule.closed
    schedule.setPriorities { waiting[$0.id]?.ticket.priority ?? $0.priority }
    let started = schedule.start(at: now) { pauses.start($0.id, at: $0.origin, now: now) }
    guard !started.isEmpty || hasArrivals || schedule.closed != closed else { return }
    hasArrivals = false
    for id in started {
      guard let exchange = waiting.removeValue(forKey: id) else { continue }
      running[id] = exchange
      exchange.startedAt = now
      exchange.stallGuard = stallGuard(for: exchange.request, at: now)
      exchange.ticket.started(id)
      exchange.ticket.counters.started(at: now)
      counters.started(at: now)
      send(exchange)
    }
    showObstacles()
  }

  /// Reports to the tickets of waiting requests why they wait.
  func showObstacles() {
    let now = clock.uptime()
    for (entry, obstacle) in schedule.obstacles(at: now) {
      guard let exchange = waiting[entry.id] else { continue }
      let (reason, until): (TransferWait.Reason, Double?) =
        switch obstacle {
        case .tooEarly(let instant): (exchange.request.reason ?? .turn, instant)
        case .hostConnections: (.turnAtHost, nil)
        case .hostPause(let instant): (pauseReason(exchange, now), instant)
        case .memory: (.memory, nil)
        case .connections, nil: (.turn, nil)
        }
      exchange.ticket.wait(
        entry.id,
        TransferWait(
          reason: reason, until: until.map(clock.date(of:)), host: exchange.request.url.host))
    }
  }

  private func pauseReason(_ exchange: Exchange, _ now: Double) -> TransferWait.Reason {
    let url = exchange.request.url
    return pauses.pause(of: url.origin, at: now).map { TransferWait.Reason($0.fault, from: url) }
      ?? .turnAtHost
  }

  private func send(_ exchange: Exchange) {
    guard let easy = exchange.easy ?? idleHandles.popLast() ?? EasyHandle(), let multi else {
      return finish(exchange.id, TransferFault(.network, "libcurl cannot create a handle"))
    }
    exchange.easy = easy
    easy.reset()
    easy.configure(for: exchange, configuration)
    if let fault = multi.add(easy) { finish(exchange.id, fault) }
  }

  /// Records whether requests to `origin` share a connection.
  func noteProtocol(of origin: String, isShared: Bool) {
    guard schedule.multiplexed.contains(origin) != isShared else { return }
    if isShared { schedule.multiplexed.insert(origin) } else { schedule.multiplexed.remove(origin) }
  }

  // MARK: Rate

  /// Returns when `exchange` may take bytes, or nil if it may now; then the bytes are counted.
  func mayTake(_ bytes: Int, of exchange: Exchange) -> Double? {
    guard limiter.isLimiting else { return nil }
    let now = clock.uptime()
    let wait = limiter.wait(for: exchange.url.origin, at: now)
    guard wait <= 0 else { return now + wait }
    limiter.take(bytes, for: exchange.url.origin, at: now)
    return nil
  }

  /// Resumes requests whose delay has ended.
  func continueDue(_ now: Double) {
    for exchange in running.values where (exchange.limitedUntil ?? .infinity) <= now {
      unpause(exchange)
    }
  }

  func unpause(_ exchange: Exchange) {
    guard exchange.isPaused, let easy = exchange.easy else { return }
    exchange.phase = .body
    exchange.stallGuard.restart(bytes: exchange.progress, at: clock.uptime())
    // It may deliver buffered bytes, and pause again, before it returns. An end at this point must
    // be handled here: the body may be complete, so libcurl waits for nothing more.
    let code = easy.resume()
    if code != CURLE_OK { settle(exchange, code) }
  }

  // MARK: Ending

  /// Ends requests that have stalled or passed their deadline.
  func giveUpDue(_ now: Double) {
    for exchange in Array(running.values) + waiting.values where exchange.isLate(at: now) {
      finish(exchange.id, TransferFault(.deadline))
    }
    for exchange in waiting.values where exchange.isExpired(at: now) {
      finish(exchange.id, TransferFault(.expired))
    }
    for exchange in running.values where exchange.stallGuard.deadline <= now {
      // While libcurl connects, its own timeout applies. While we pause a request, nothing arrives.
      if exchange.isConnecting || isHeldBack(exchange) {
        exchange.stallGuard.restart(bytes: exchange.progress, at: now)
        continue
      }
      switch exchange.stallGuard.judge(bytes: exchange.progress, at: now) {
      case .moving: break
      case .idle: if let fault = exchange.handler.idle() { finish(exchange.id, fault) }
      case .stalled: finish(exchange.id, TransferFault(.stalled))
      }
    }
  }

  /// Whether we prevent progress; over HTTP/2, a paused answer blocks the others.
  private func isHeldBack(_ exchange: Exchange) -> Bool {
    exchange.isPaused
      || running.values.contains {
        $0.isPaused && $0.limitedUntil == nil && $0.url.origin == exchange.url.origin
          && $0.head?.version.hasPrefix("HTTP/2") == true
      }
  }

  // MARK: Idle timeouts

  private func stallGuard(for request: ExchangeRequest, at now: Double) -> StallGuard {
    let timeout = idleTimeouts[request.url.origin] ?? initialIdleTimeout
    let idleTimeout =
      request.stallTimeout == nil ? timeout.seconds * request.idleFactor : .infinity
    return StallGuard(
      window: request.stallTimeout ?? configuration.stallTimeout,
      minimumBytes: configuration.minimumBytes, idleTimeout: idleTimeout, at: now)
  }

  private var initialIdleTimeout: IdleTimeout {
    IdleTimeout(configuration.idleTimeout, maximum: configuration.stallTimeout)
  }

  /// Records progress, and how long hosts were silent before they continued.
  func noteProgress(_ now: Double) {
    for exchange in running.values {
      if exchange.isPaused || exchange.isConnecting {
        exchange.stallGuard.restart(bytes: exchange.progress, at: now)
      } else if let silence = exchange.stallGuard.note(bytes: exchange.progress, at: now) {
        guard silence * 2 > exchange.stallGuard.idleTimeout else { continue }
        let origin = exchange.request.url.origin
        idleTimeouts[origin, default: initialIdleTimeout].resume(after: silence)
      }
    }
  }

  /// Adapts the idle timeout to how the request ended.
  private func noteEnd(of exchange: Exchange, _ fault: TransferFault?) {
    let origin = exchange.request.url.origin
    if exchange.stallGuard.isIdle {
      let seconds = exchange.stallGuard.lastProgress - exchange.startedAt
      idleTimeouts[origin, default: initialIdleTimeout]
        .stall(rate: Double(exchange.progress) / max(seconds, 0.001))
    } else if fault == nil {
      idleTimeouts[origin]?.complete()
    }
  }

  /// Reads libcurl's messages, and returns whether there were any.
  func readEnds(_ multi: MultiHandle) -> Bool {
    var found = false
    while let (exchange, code) = multi.nextEnd() {
      found = true
      settle(exchange, code)
    }
    return found
  }

  private func settle(_ exchange: Exchange, _ code: CURLcode) {
    guard let easy = exchange.easy else { return }
    // The head of an answer without a body has not been passed to the handler yet.
    if code == CURLE_OK { exchange.settleHead() }
    switch exchange.phase {
    // Our fault says more than the error that libcurl reports when we abort.
    case .discarding(_, let fault?), .failed(let fault): finish(exchange.id, fault)
    case _ where exchange.collector.head.isRedirect:
      follow(exchange, to: easy.text(CURLINFO_REDIRECT_URL))
    case .complete: finish(exchange.id, nil)
    case .head, .body, .paused, .discarding:
      finish(exchange.id, code == CURLE_OK ? nil : TransferFault(code, of: easy, exchange))
    }
  }

  private func follow(_ exchange: Exchange, to target: String?) {
    // Another server must not get the body, and the method would be ambiguous.
    let method = exchange.request.method
    guard method == "GET" || method == "HEAD" else {
      return finish(
        exchange.id, TransferFault(.redirectRefused, "A request with \(method) is not redirected"))
    }
    switch RedirectRule.follow(
      from: exchange.url, to: target, number: exchange.redirects + 1)
    {
    case .failure(let fault): finish(exchange.id, fault)
    case .success(let url):
      if let easy = exchange.easy { multi?.remove(easy) }
      exchange.url = url
      exchange.redirects += 1
      exchange.phase = .head
      exchange.collector.restart()
      send(exchange)
    }
  }

  /// Ends request `id` in any state, and calls its handler.
  func finish(_ id: Int, _ fault: TransferFault?) {
    schedule.remove(id)
    let wasRunning = running[id] != nil
    guard let exchange = running.removeValue(forKey: id) ?? waiting.removeValue(forKey: id) else {
      return
    }
    let end = exchange.ending(fault)
    if let easy = exchange.easy {
      multi?.remove(easy)
      if idleHandles.count < Self.idleHandleLimit { idleHandles.append(easy) }
      exchange.easy = nil
    }
    exchange.ticket.ended(id)
    if wasRunning {
      let now = clock.uptime()
      noteEnd(of: exchange, fault)
      pauses.end(
        id, at: exchange.request.url.origin, fault, startedAt: exchange.startedAt, now: now,
        configuration.retry, random: random)
      exchange.ticket.counters.ended(end, at: now)
      counters.ended(end, at: now)
    }
    exchange.handler.end(end)
  }
}

extension Exchange {
  fileprivate func isLate(at now: Double) -> Bool { (request.deadline ?? .infinity) <= now }

  /// Whether it could start, but its URL has expired.
  fileprivate func isExpired(at now: Double) -> Bool {
    request.notBefore <= now && (request.grant?.expiresAt ?? .infinity) <= now
  }

  /// Returns the end of the request, with the results so far.
  func ending(_ fault: TransferFault?) -> ExchangeEnd {
    let firstByte = easy?.seconds(CURLINFO_STARTTRANSFER_TIME_T) ?? 0
    return ExchangeEnd(
      fault: fault, head: head, url: url, startedAt: startedAt,
      timeToFirstByte: firstByte > 0 ? firstByte : nil,
      certificateExpiry: request.readsCertificate ? easy?.certificateExpiry : nil)
  }
}
