import CCurl
import Digests
import FileIO
import Glibc
import Concurrency

/// One multi handle of libcurl on a thread of its own, which starts with the first request.
///
/// Other threads leave commands in the inbox and wake it; everything else belongs to the loop's
/// thread, which is why it may be shared unchecked. No lock is held while anything is
/// called, but for starting and waking the thread. The corresponding C functions are those of
/// libcurl-multi(3).
final class TransferLoop: @unchecked Sendable {
  let configuration: HTTPConfiguration
  let clock: TransferClock
  /// What all transfers did together.
  let counters = TransferCounters()
  let distances: ServerDistances
  let pauses: HostPauses
  let random: @Sendable () -> Double

  private let inbox = Mutex(Inbox())
  private let awakened = Mutex(Awakened())
  private static let counter = Atomic<Int>(0)
  /// Seconds between looks at libcurl while anything is connecting.
  private static let connectingPollTimeout = 0.5

  private struct Inbox {
    var commands: [Command] = []
    /// Until somebody waits for its end.
    var thread: WorkThread?
    var isClosed = false
    /// Whether the thread sleeps, or is about to, and must be woken for a command.
    var isAsleep = false
  }

  /// The handle that other threads wake; its lock keeps it from being cleaned up meanwhile.
  private struct Awakened {
    nonisolated(unsafe) var multi: UnsafeMutableRawPointer?
  }

  private enum Command: Sendable {
    case add(Exchange)
    case cancel(Int)
    case resume(Int)
    case priority(Int, of: Int)
    case limits(TransferLimits)
    case close
  }

  // Of the loop's thread.
  var schedule: TransferSchedule
  var limiter: RateLimiter
  /// By origin.
  var idleTimeouts: [String: IdleTimeout] = [:]
  var waiting: [Int: Exchange] = [:]
  var running: [Int: Exchange] = [:]
  /// Whether requests came whose tickets have not been told what they wait for.
  var hasArrivals = false
  var multi: UnsafeMutableRawPointer?
  /// Handles for further requests, since each owns a large buffer.
  var idleHandles: [EasyHandle] = []
  private var isClosing = false

  /// libcurl's own preparations, once in a process.
  private static let isReady =
    CryptoLibrary.isReady && curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  init(
    _ configuration: HTTPConfiguration, clock: TransferClock, pauses: HostPauses,
    random: @escaping @Sendable () -> Double
  ) {
    self.configuration = configuration
    self.clock = clock
    self.pauses = pauses
    self.random = random
    schedule = TransferSchedule(limits: configuration.limits)
    limiter = RateLimiter(configuration.limits, at: clock.uptime())
    distances = ServerDistances(behind: configuration.proxy)
  }

  // MARK: From any thread

  /// Sends `request` when its turn comes; returns its number at once.
  ///
  /// Without a thread it ends with a fault, and the next one tries again to start it.
  func submit(
    _ request: ExchangeRequest, ticket: TransferTicket, handler: any ExchangeHandler
  ) -> Int {
    let id = Self.counter.add(1, ordering: .relaxed).newValue
    let exchange = Exchange(id, request, ticket: ticket, handler: handler, on: self)
    if let fault = start() {
      handler.end(exchange.ending(fault))
    } else if !post(.add(exchange)) {
      handler.end(exchange.ending(TransferFault(.cancelled, "The session is closed")))
    }
    return id
  }

  /// Starts the thread unless there is one; says why it cannot be.
  private func start() -> TransferFault? {
    inbox.withLock { inbox in
      guard inbox.thread == nil, !inbox.isClosed else { return nil }
      guard let new = Self.newMulti() else {
        return TransferFault(.tooManyFiles, "libcurl cannot start")
      }
      nonisolated(unsafe) let multi = new
      do {
        inbox.thread = try WorkThread { self.run(multi) }
        return nil
      } catch {
        curl_multi_cleanup(multi)
        return TransferFault(.network, "The system gives no thread")
      }
    }
  }

  private static func newMulti() -> UnsafeMutableRawPointer? {
    guard isReady, let multi = curl_multi_init() else { return nil }
    // One that has no descriptors to be woken by would sleep for as long as it is told.
    guard curl_multi_wakeup(multi) == CURLM_OK else {
      curl_multi_cleanup(multi)
      return nil
    }
    return multi
  }

  /// Ends request `id`, which its handler hears of, if it has not ended.
  func cancel(_ id: Int) { post(.cancel(id)) }

  /// Lets request `id` go on after its handler answered `wait`.
  func resume(_ id: Int) { post(.resume(id)) }

  /// Changes the priority of what waits for the ticket of number `owner`.
  func setPriority(_ priority: Int, of owner: Int) { post(.priority(priority, of: owner)) }

  func setLimits(_ limits: TransferLimits) { post(.limits(limits)) }

  /// Ends everything, and waits until the thread is gone: at the end of the process OpenSSL frees
  /// what a thread that still ends would free, too.
  func close() {
    post(.close)
    let thread = inbox.withLock { inbox in
      defer { inbox.thread = nil }
      return inbox.thread
    }
    thread?.end()
  }

  @discardableResult private func post(_ command: Command) -> Bool {
    let (isOpen, isAsleep) = inbox.withLock { inbox in
      guard !inbox.isClosed else { return (false, false) }
      inbox.commands.append(command)
      if case .close = command { inbox.isClosed = true }
      defer { inbox.isAsleep = false }
      return (true, inbox.isAsleep)
    }
    // Not under the inbox's lock, for which the thread would wait as soon as it is awake.
    if isAsleep { awakened.withLock { if let multi = $0.multi { curl_multi_wakeup(multi) } } }
    return isOpen
  }

  // MARK: The thread

  private func run(_ multi: UnsafeMutableRawPointer) {
    // OpenSSL writes to sockets without MSG_NOSIGNAL; a broken one must not end the process.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    self.multi = multi
    // Connections stay open for as many as may be in use at once.
    hc_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.limits.connections * 2)
    awakened.withLock { $0.multi = multi }
    while !isClosing { turn(multi) }
    endAll(TransferFault(.cancelled, "The session is closed"))
    awakened.withLock { $0.multi = nil }
    idleHandles = []
    curl_multi_cleanup(multi)
    self.multi = nil
  }

  private func turn(_ multi: UnsafeMutableRawPointer) {
    for command in takeCommands() { carryOut(command) }
    // What is given up makes room for what starts.
    let now = clock.uptime()
    giveUpDue(now)
    startDue(now)
    continueDue(now)
    var count: Int32 = 0
    curl_multi_perform(multi, &count)
    noteProgress(now)
    // Ends make room for starts, so they are looked at before anything waits.
    guard !readEnds(multi), !isClosing, mayFallAsleep() else { return }
    curl_multi_poll(multi, nil, 0, patience(since: now), nil)
    inbox.withLock { $0.isAsleep = false }
  }

  private func takeCommands() -> [Command] {
    inbox.withLock { inbox in
      defer { inbox.commands = [] }
      return inbox.commands
    }
  }

  /// Whether there is no command; from here on who brings one wakes the thread.
  private func mayFallAsleep() -> Bool {
    inbox.withLock { inbox in
      inbox.isAsleep = inbox.commands.isEmpty
      return inbox.isAsleep
    }
  }

  private func carryOut(_ command: Command) {
    switch command {
    case .add(let exchange):
      waiting[exchange.id] = exchange
      schedule.add(exchange.entry)
      hasArrivals = true
    case .cancel(let id): finish(id, TransferFault(.cancelled))
    case .resume(let id): if let exchange = running[id] { unpause(exchange) }
    case .priority(let priority, let owner): schedule.setPriority(priority, of: owner)
    case .limits(let limits):
      schedule.limits = limits
      limiter.setLimits(limits, at: clock.uptime())
      for exchange in running.values where exchange.limitedUntil != nil { unpause(exchange) }
    case .close: isClosing = true
    }
  }

  /// Milliseconds until something of ours is due that was not at `turn`, when all that was due was
  /// done; libcurl minds its own timers and sockets.
  private func patience(since turn: Double) -> Int32 {
    var instant = schedule.nextInstant(after: turn) ?? .infinity
    for exchange in running.values {
      // libcurl 7.88 sets no timer when it gives up one address of a host and tries the next one.
      if exchange.isConnecting { instant = min(instant, turn + Self.connectingPollTimeout) }
      instant = min(instant, exchange.limitedUntil ?? exchange.stallGuard.deadline)
      instant = min(instant, exchange.request.deadline ?? .infinity)
    }
    for exchange in waiting.values {
      instant = min(instant, exchange.request.deadline ?? .infinity)
    }
    // An hour, because a thread that waits for nothing in particular may as well look.
    return Int32(min(3_600_000, max(0, ((instant - clock.uptime()) * 1000).rounded(.up))))
  }

  private func endAll(_ fault: TransferFault) {
    for case .add(let exchange) in takeCommands() { waiting[exchange.id] = exchange }
    for id in waiting.keys.sorted() + running.keys.sorted() { finish(id, fault) }
  }
}
