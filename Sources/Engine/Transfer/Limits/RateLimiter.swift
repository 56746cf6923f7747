import HostedModel

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

  /// Whether any limit is set.
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
