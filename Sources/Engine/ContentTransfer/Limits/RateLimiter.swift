/// Rate limits in total and per origin.
///
/// Pure: callers pass the time.
struct RateLimiter {
  private var total: TokenBucket
  private var byOrigin: [String: TokenBucket] = [:]
  private var ratePerHost: Int64?

  init(_ limits: TransferLimits, at now: Double) {
    total = TokenBucket(rate: limits.bytesPerSecond, at: now)
    ratePerHost = limits.bytesPerSecondPerHost
  }

  /// Changes the limits.
  ///
  /// A debt is kept.
  mutating func setLimits(_ limits: TransferLimits, at now: Double) {
    total.setRate(limits.bytesPerSecond, at: now)
    ratePerHost = limits.bytesPerSecondPerHost
    if ratePerHost == nil { byOrigin = [:] }
    for origin in byOrigin.keys { byOrigin[origin]?.setRate(ratePerHost, at: now) }
  }

  /// Whether any limit is set.
  var isLimiting: Bool { total.rate != nil || ratePerHost != nil }

  /// Returns the seconds until bytes from `origin` may be taken.
  mutating func wait(for origin: String, at now: Double) -> Double {
    let wait = total.wait(at: now)
    guard let ratePerHost else { return wait }
    let bucket = byOrigin[origin] ?? TokenBucket(rate: ratePerHost, at: now)
    byOrigin[origin] = bucket
    return max(wait, byOrigin[origin]?.wait(at: now) ?? 0)
  }

  /// Takes `bytes` that have arrived from `origin`.
  mutating func take(_ bytes: Int, for origin: String, at now: Double) {
    total.take(bytes, at: now)
    byOrigin[origin]?.take(bytes, at: now)
  }
}
