import HostedModel

/// The limits of concurrent transfers and their rate; 1 is used instead of a lower number.
public struct TransferLimits: Hashable, Sendable {
  /// The maximum number of concurrent requests.
  public var connections = 16
  /// The maximum number of concurrent requests to one origin.
  ///
  /// It is four times as high over HTTP/2, where requests share a connection.
  public var connectionsPerHost = 8
  /// The maximum number of concurrent requests for one package.
  public var connectionsPerTransfer = 2
  /// The maximum number of concurrent requests for one package if they are small.
  ///
  /// It applies while they ask for less than 256 KiB in total, since the round trip then takes
  /// longer than the bytes.
  public var smallRequestsPerTransfer = 6
  /// The maximum rate in bytes per second, or nil for no limit.
  public var bytesPerSecond: Int64?
  /// The maximum rate of one origin in bytes per second, or nil for no limit.
  public var bytesPerSecondPerHost: Int64?
  /// The maximum bytes of the buffers of all transfers.
  ///
  /// One transfer may always continue.
  public var memory = 64 << 20

  /// Creates the default limits.
  public init() {}
}

extension TransferLimits {
  /// Returns the number of requests that a user has set, at least 1, and small enough to multiply.
  static func bounded(_ count: Int) -> Int { min(max(1, count), 1 << 16) }
}

/// Rate limits in total and per origin; pure: callers pass the time.
struct RateLimiter {
  private var total: RateSchedule
  private var byOrigin: [String: RateSchedule] = [:]
  private(set) var limits: TransferLimits

  init(_ limits: TransferLimits, at now: Double) {
    total = RateSchedule(bytesPerSecond: limits.bytesPerSecond, at: now)
    self.limits = limits
  }

  private var ratePerHost: Int64? { limits.bytesPerSecondPerHost }

  /// Changes the limits; a debt is kept.
  mutating func setLimits(_ limits: TransferLimits, at now: Double) {
    total.setRate(limits.bytesPerSecond.map(Double.init), at: now)
    self.limits = limits
    guard let rate = ratePerHost.map(Double.init) else { return byOrigin = [:] }
    for origin in byOrigin.keys { byOrigin[origin]?.setRate(rate, at: now) }
  }

  var isLimiting: Bool { total.rate != nil || ratePerHost != nil }

  /// Returns the seconds until bytes from `origin` may be taken.
  mutating func wait(for origin: String, at now: Double) -> Double {
    var wait = total.wait(at: now)
    if let ratePerHost {
      let schedule =
        byOrigin[origin] ?? RateSchedule(bytesPerSecond: ratePerHost, at: now)
      byOrigin[origin] = schedule
      wait = max(wait, schedule.wait(at: now))
    }
    // Shorter waits would cost more system calls than they delay bytes.
    return wait > 0 ? max(0.001, wait) : 0
  }

  /// Takes `bytes` that have arrived from `origin`; a negative number returns them.
  mutating func take(_ bytes: Int, for origin: String, at now: Double) {
    total.take(Double(bytes), at: now)
    byOrigin[origin]?.take(Double(bytes), at: now)
  }
}

extension RateSchedule {
  /// Allows bursts of a tenth of a second.
  init(bytesPerSecond: Int64?, at now: Double) {
    self.init(rate: bytesPerSecond.map(Double.init), burst: 0.1, at: now)
  }
}
