import Glibc
import HostedCCurl
import HostedConcurrency
import HostedDigests
import HostedHTTPValues

/// A libcurl multi handle on a separate thread, which starts with the first request.
///
/// Unchecked, because other threads only add commands to the inbox and wake the loop. All other
/// state belongs to the loop's thread. No lock is held during calls.
final class TransferLoop: @unchecked Sendable {
  let configuration: HTTPConfiguration
  let clock: EngineClock
  /// The counters of all transfers.
  let counters = TransferCounters()
  let distances: ServerDistances
  let pauses: HostPauses
  let random: @Sendable () -> Double

  private let inbox = Mutex(Inbox())
  private let currentLimits: Mutex<TransferLimits>
  /// Nil before the first request, and after `close`.
  private let thread = Serialized<WorkThread?>(nil)
  /// Lets a second call of `close` wait for the first one.
  private let closing = OperationLock()
  private static let counter = Atomic<Int>(0)
  private static let idleHandleLimit = 16
  /// The poll timeout in seconds while a request connects.
  private static let connectingPollTimeout = 0.5

  /// A call on the loop's thread.
  private typealias Command = @Sendable (TransferLoop) -> Void

  private struct Inbox {
    var commands: [Command] = []
    var hasThread = false
    var isClosed = false
    /// The handle that a command must wake if the thread sleeps or is about to.
    var sleeper: MultiHandle?
  }

  // State of the loop's thread.
  private(set) var schedule: TransferSchedule
  private var limiter: RateLimiter
  /// By origin.
  private var idleTimeouts: [String: IdleTimeout] = [:]
  private var waiting: [Int: Exchange] = [:]
  private var running: [Int: Exchange] = [:]
  /// Whether requests were added whose tickets do not know yet why they wait.
  private var hasArrivals = false
  private var multi: MultiHandle?
  /// Handles to reuse, since each one has a large buffer.
  private var idleHandles: [EasyHandle] = []
  private var isClosing = false

  init(
    _ configuration: HTTPConfiguration, clock: EngineClock, pauses: HostPauses,
    random: @escaping @Sendable () -> Double
  ) {
    self.configuration = configuration
    self.clock = clock
    self.pauses = pauses
    self.random = random
    currentLimits = Mutex(configuration.limits)
    schedule = TransferSchedule(limits: configuration.limits)
    limiter = RateLimiter(configuration.limits, at: clock.uptime())
    distances = ServerDistances(behind: configuration.proxy)
  }

  // MARK: Any thread

  /// Queues `request` and returns its number at once.
  ///
  /// If the thread cannot be started, the request ends with a fault. The next request tries again.
  func submit(
    _ request: ExchangeRequest, ticket: TransferTicket, handler: any ExchangeHandler
  ) -> Int {
    let id = Self.counter.add(1, ordering: .relaxed).newValue
    let exchange = Exchange(id, request, ticket: ticket, handler: handler, on: self)
    if let fault = start() {
      handler.end(exchange.ending(fault))
    } else if !post({ $0.add(exchange) }) {
      handler.end(exchange.ending(TransferFault(.cancelled, "The session is closed")))
    }
    return id
  }

  /// Starts the thread if it is not running, and returns a fault if that fails.
  private func start() -> TransferFault? {
    func isMissing() -> Bool { inbox.withLock { !$0.hasThread && !$0.isClosed } }
    // A request rarely starts it.
    guard isMissing() else { return nil }
    return thread.use { thread in
      guard isMissing() else { return nil }
      // Keep connections open for as many requests as may run at once.
      let connections = TransferLimits.bounded(limits.connections)
      guard let multi = MultiHandle(connections: 2 * connections) else {
        return TransferFault(.tooManyFiles, "libcurl cannot be initialized")
      }
      do {
        thread = try WorkThread { self.run(multi) }
        inbox.withLock { $0.hasThread = true }
        return nil
      } catch {
        return TransferFault(.network, "A thread cannot be started")
      }
    }
  }

  /// Cancels request `id` if it has not ended; its handler is called.
  func cancel(_ id: Int) { post { $0.finish(id, TransferFault(.cancelled)) } }

  /// Resumes request `id` after its handler returned `wait`.
  func resume(_ id: Int) {
    post { loop in
      if let exchange = loop.running[id] { loop.unpause(exchange) }
    }
  }

  /// The limits; a change applies at once, also to running requests.
  var limits: TransferLimits {
    get { currentLimits.withLock { $0 } }
    set {
      currentLimits.withLock { $0 = newValue }
      // The command reads them, since two changes may be queued in another order than made.
      post { $0.applyLimits() }
    }
  }

  /// Ends all requests and waits for the thread, also if another call already does.
  ///
  /// Without the wait, OpenSSL would free memory at the exit of the process that the thread also
  /// frees.
  func close() {
    post(isLast: true) { $0.isClosing = true }
    // Not in `thread.use`, since the last handlers, which this waits for, may start requests.
    closing.withLock {
      let running = thread.use { $0.take() }
      running?.end()
    }
  }

  /// Queues a command, and returns false after the last one.
  @discardableResult
  private func post(isLast: Bool = false, _ command: @escaping Command) -> Bool {
    let (isOpen, sleeper): (Bool, MultiHandle?) = inbox.withLock { inbox in
      guard !inbox.isClosed else { return (false, nil) }
      inbox.commands.append(command)
      inbox.isClosed = isLast
      defer { inbox.sleeper = nil }
      return (true, inbox.sleeper)
    }
    // Not while holding the inbox's lock, which the thread needs as soon as it wakes.
    sleeper?.wake()
    return isOpen
  }

  // MARK: The thread

  private func run(_ multi: MultiHandle) {
    // OpenSSL writes to sockets without MSG_NOSIGNAL. A broken socket must not end the process.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    self.multi = multi
    while !isClosing { turn(multi) }
    for id in waiting.keys.sorted() + running.keys.sorted() {
      finish(id, TransferFault(.cancelled, "The session is closed"))
    }
    idleHandles = []
    self.multi = nil
    multi.close()
  }

  private func turn(_ multi: MultiHandle) {
    let commands = inbox.withLock { inbox in
      defer { inbox.commands = [] }
      return inbox.commands
    }
    for command in commands { command(self) }
    // Ended requests make room for new ones, so they come first.
    let now = clock.uptime()
    giveUpDue(now)
    startDue(now)
    continueDue(now)
    multi.perform()
    noteProgress(now)
    // Ended requests allow others to start, so handle them before waiting.
    guard !readEnds(multi), !isClosing, mayFallAsleep(multi) else { return }
    multi.poll(milliseconds: pollTimeout(since: now))
    inbox.withLock { $0.sleeper = nil }
  }

  /// Returns whether no command waits; from now on, a new command wakes the thread.
  private func mayFallAsleep(_ multi: MultiHandle) -> Bool {
    inbox.withLock { inbox in
      guard inbox.commands.isEmpty else { return false }
      inbox.sleeper = multi
      return true
    }
  }

  private func applyLimits() {
    let limits = limits
    schedule.limits = limits
    limiter.setLimits(limits, at: clock.uptime())
    for exchange in running.values where exchange.limitedUntil != nil { unpause(exchange) }
  }

  private func add(_ exchange: Exchange) {
    waiting[exchange.id] = exchange
    schedule.add(exchange.entry)
    hasArrivals = true
  }

  /// Returns the milliseconds until the next timer of ours that was not due at `turn`.
  ///
  /// libcurl handles its own timers and sockets.
  private func pollTimeout(since turn: Double) -> Int32 {
    var instant = schedule.nextInstant(after: turn) ?? .infinity
    for exchange in running.values {
      // libcurl 7.88 sets no timer when it stops trying an address and tries the next one.
      if exchange.isConnecting { instant = min(instant, turn + Self.connectingPollTimeout) }
      instant = min(instant, exchange.limitedUntil ?? exchange.stallGuard.deadline)
      instant = min(instant, exchange.request.deadline ?? .infinity)
    }
    for exchange in waiting.values {
      instant = min(instant, exchange.request.deadline ?? .infinity)
    }
    // At most one hour, in case nothing else is due.
    return Int32(min(3_600_000, max(0, ((instant - clock.uptime()) * 1000).rounded(.up))))
  }

  // MARK: The thread: starting

  /// Starts the requests that the schedule allows.
  private func startDue(_ now: Double) {
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
  private func showObstacles() {
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

  /// Whether requests to `origin` share a connection.
  func isShared(_ origin: String) -> Bool { schedule.multiplexed.contains(origin) }

  // MARK: The thread: rate

  /// Returns when `exchange` may take bytes, or nil if it may now; then the bytes are counted.
  func mayTake(_ bytes: Int, of exchange: Exchange) -> Double? {
    guard limiter.isLimiting else { return nil }
    let now = clock.uptime()
    let wait = limiter.wait(for: exchange.url.origin, at: now)
    guard wait <= 0 else { return now + wait }
    limiter.take(bytes, for: exchange.url.origin, at: now)
    return nil
  }

  /// Returns bytes that `exchange` could not use yet; they come again, and count then.
  func giveBack(_ bytes: Int, of exchange: Exchange) {
    limiter.take(-bytes, for: exchange.url.origin, at: clock.uptime())
  }

  /// Resumes requests whose delay has ended.
  private func continueDue(_ now: Double) {
    for exchange in running.values where (exchange.limitedUntil ?? .infinity) <= now {
      unpause(exchange)
    }
  }

  private func unpause(_ exchange: Exchange) {
    guard exchange.isPaused, let easy = exchange.easy else { return }
    exchange.endPause()
    exchange.stallGuard.restart(bytes: exchange.progress, at: clock.uptime())
    // It may deliver buffered bytes, and pause again, before it returns. An end at this point must
    // be handled here: the body may be complete, so libcurl waits for nothing more.
    let code = easy.resume()
    if code != CURLE_OK { settle(exchange, code) }
  }

  // MARK: The thread: ending

  /// Ends requests that have stalled or passed their deadline.
  private func giveUpDue(_ now: Double) {
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

  // MARK: The thread: idle timeouts

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
  private func noteProgress(_ now: Double) {
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

  // MARK: The thread: results of libcurl

  /// Reads libcurl's messages, and returns whether there were any.
  private func readEnds(_ multi: MultiHandle) -> Bool {
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
    case _ where exchange.isRedirected:
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
      exchange.redirect(to: url)
      send(exchange)
    }
  }

  /// Ends request `id` in any state, and calls its handler.
  private func finish(_ id: Int, _ fault: TransferFault?) {
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

/// The rules for the target of a redirect.
///
/// Pure. libcurl does not follow redirects. Each redirect is a new request of ours, so that each
/// target is checked and credentials are chosen again.
enum RedirectRule {
  /// The maximum number of redirects.
  private static let limit = 5

  /// Returns the URL of redirect number `number` (from 1), or why it is not followed.
  ///
  /// `target` is the URL that libcurl made from the `Location` header and the previous URL.
  static func follow(from url: WebURL, to target: String?, number: Int) -> Result<
    WebURL, TransferFault
  > {
    guard number <= limit else {
      return .failure(TransferFault(.tooManyRedirects, "The limit is \(limit)"))
    }
    guard let target, let next = try? WebURL(target) else {
      return .failure(TransferFault(.redirectRefused, "The target is not an http or https URL"))
    }
    guard next.isSecure || !url.isSecure else {
      return .failure(TransferFault(.redirectRefused, "The target would downgrade https to http"))
    }
    return .success(next)
  }
}

/// Owns a multi handle of libcurl, with its connections.
///
/// Unchecked, because only the loop's thread uses it, except for `wake`. The C functions are those
/// of libcurl-multi(3). No pointer leaves this module.
final class MultiHandle: @unchecked Sendable {
  private let pointer: UnsafeMutableRawPointer
  /// In use while another thread wakes the loop, so that the handle is not cleaned up meanwhile.
  private let isOpen = Serialized(true)

  /// The global initialization of libcurl, once per process.
  private static let isReady =
    CryptoLibrary.isReady && curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  /// Creates a handle that keeps up to `connections` open, or returns nil without descriptors.
  init?(connections: Int) {
    guard Self.isReady, let pointer = curl_multi_init() else { return nil }
    self.pointer = pointer
    // Without descriptors for waking, it could not be woken before its timeout.
    guard curl_multi_wakeup(pointer) == CURLM_OK else { return nil }
    hc_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, connections)
  }

  deinit { close() }

  /// Closes its connections, on the loop's thread, where a broken socket sends no signal.
  ///
  /// All easy handles must have been removed.
  func close() {
    let wasOpen = isOpen.use { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if wasOpen { curl_multi_cleanup(pointer) }
  }

  /// Ends `poll`, or the next call of it; from any thread.
  func wake() { isOpen.use { if $0 { curl_multi_wakeup(pointer) } } }

  /// Waits for sockets and timers of libcurl, at most this long.
  func poll(milliseconds: Int32) { curl_multi_poll(pointer, nil, 0, milliseconds, nil) }

  /// Transfers what is possible now, and calls the callbacks.
  func perform() {
    var count: Int32 = 0
    curl_multi_perform(pointer, &count)
  }

  /// Begins the request of `easy`, and returns a fault if it cannot.
  func add(_ easy: EasyHandle) -> TransferFault? {
    let code = curl_multi_add_handle(pointer, easy.pointer)
    guard code != CURLM_OK else { return nil }
    return TransferFault(.network, String(cString: curl_multi_strerror(code)))
  }

  func remove(_ easy: EasyHandle) { curl_multi_remove_handle(pointer, easy.pointer) }

  /// Returns the next exchange that libcurl has ended, and its result; nil if all were returned.
  func nextEnd() -> (exchange: Exchange, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(pointer, &left)?.pointee {
      guard message.msg == CURLMSG_DONE, let easy = message.easy_handle else { continue }
      var context: UnsafeMutableRawPointer?
      hc_easy_get_pointer(easy, CURLINFO_PRIVATE, &context)
      guard let context else { continue }
      let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
      return (exchange, message.data.result)
    }
    return nil
  }
}
