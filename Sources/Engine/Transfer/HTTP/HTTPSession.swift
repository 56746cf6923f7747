import HostedHTTPValues
import HostedModel
package import HostedConcurrency

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

  /// Returns how many requests for one package run at `address`, and how many each replaces.
  func connections(to address: WebURL) -> (count: Int, insteadOf: Int) {
    let limit = TransferLimits.bounded(limits.connectionsPerTransfer)
    let isOne = loop.distances.isShort(to: address.origin) || pause(at: address) != nil
    return isOne ? (1, limit) : (limit, 1)
  }

  /// Returns the pause of the host of `address` if it has refused requests recently.
  func pause(at address: WebURL) -> HostPause? {
    loop.pauses.pause(of: address.origin, at: loop.clock.uptime())
  }

  /// Whether `address` has refused all requests since `start` for longer than the busy timeout.
  func isBusyTooLong(_ address: WebURL, since start: Double) -> Bool {
    let now = loop.clock.uptime()
    let begin = max(start, pause(at: address)?.refusedSince ?? now)
    return now - begin >= configuration.retry.busyTimeout
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
}
