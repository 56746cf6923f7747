import Glibc
import HostedConcurrency

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
  var schedule: TransferSchedule
  var limiter: RateLimiter
  /// By origin.
  var idleTimeouts: [String: IdleTimeout] = [:]
  var waiting: [Int: Exchange] = [:]
  var running: [Int: Exchange] = [:]
  /// Whether requests were added whose tickets do not know yet why they wait.
  var hasArrivals = false
  var multi: MultiHandle?
  /// Handles to reuse, since each one has a large buffer.
  var idleHandles: [EasyHandle] = []
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
    for command in takeCommands() { command(self) }
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

  private func takeCommands() -> [Command] {
    inbox.withLock { inbox in
      defer { inbox.commands = [] }
      return inbox.commands
    }
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
}
