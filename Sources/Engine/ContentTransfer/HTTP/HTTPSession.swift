import ContentModel
import Concurrency

/// Speaks HTTP for everything in a process: connections, limits and statistics are shared.
///
/// Its methods block the caller's thread while one thread of its own does the transfers; it may be
/// used by any number of threads at once. The thread starts with the first request and ends with
/// the session.
package final class HTTPSession: Sendable {
  /// What it was made with.
  package let configuration: HTTPConfiguration
  let loop: TransferLoop
  let health: MirrorHealth
  let rates = HostRates()
  let slabs = SlabPool()
  private let currentLimits: Mutex<TransferLimits>

  /// Creates a session, which connects to nobody yet; tests hand in a clock and randomness.
  ///
  /// `pauses` are the hosts that refuse requests for now; sessions of one process share them.
  /// Throws `usage` for headers that are none, and `insecureConnectionRefused` for secrets that
  /// would be sent to another machine without encryption.
  package init(
    _ configuration: HTTPConfiguration = HTTPConfiguration(), clock: TransferClock = .system,
    pauses: HostPauses = HostPauses(),
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) throws {
    for host in configuration.credentials.map(\.host) {
      try Self.check(configuration.secrets(for: host), for: host)
    }
    try configuration.checkSecrets()
    self.configuration = configuration
    loop = TransferLoop(configuration, clock: clock, pauses: pauses, random: random)
    health = MirrorHealth(configuration.retry)
    currentLimits = Mutex(configuration.limits)
  }

  deinit { loop.close() }

  /// Throws `usage` unless each header is one header: a line break in it would begin another one.
  static func check(_ headers: [HTTPHeader], for url: WebURL) throws {
    guard !headers.allSatisfy(\.isWellFormed) else { return }
    throw ContentError(
      .usage, "A header for \(url.origin) has a character that headers cannot have",
      remedy: "Check it for line breaks", subject: url.origin)
  }

  /// How much at once and how fast; a change counts from now on, also for what runs.
  package var limits: TransferLimits {
    get { currentLimits.withLock { $0 } }
    set {
      currentLimits.withLock { $0 = newValue }
      loop.setLimits(newValue)
    }
  }

  /// How many requests for one package run at once at `address`, and how many each stands for.
  func connections(to address: WebURL) -> (count: Int, insteadOf: Int) {
    let limit = max(1, limits.connectionsPerTransfer)
    let isOne = loop.distances.isShort(to: address.origin) || pause(at: address) != nil
    return isOne ? (1, limit) : (limit, 1)
  }

  /// What is known of the host of `address` if it refused requests lately.
  func pause(at address: WebURL) -> HostPause? {
    loop.pauses.pause(of: address.origin, at: loop.clock.uptime())
  }

  /// Whether `address` has refused everything, at least since `start`, for as long as is waited.
  func isBusyTooLong(_ address: WebURL, since start: Double) -> Bool {
    let now = loop.clock.uptime()
    let begin = max(start, pause(at: address)?.refusedSince ?? now)
    return now - begin >= configuration.retry.busyTimeout
  }

  /// What all transfers did together.
  package var statistics: TransferStatistics { loop.counters.statistics }

  /// Ends everything; whoever waits gets `stopped`, now and later.
  package func close() { loop.close() }
}
