/// A token bucket: a rate limit that allows short bursts.
///
/// Pure: callers pass the time.
///
/// A take is never refused. It may create a debt, and `wait` returns how long it takes to pay it
/// off.
struct TokenBucket {
  /// Bytes per second, or nil for no limit.
  private(set) var rate: Double?
  private var tokens: Double
  private var instant: Double

  /// The maximum burst after a pause, in seconds of the rate.
  private static let burst = 0.1

  init(rate: Int64?, at instant: Double) {
    self.rate = rate.map { Double(max(1, $0)) }
    self.instant = instant
    tokens = (self.rate ?? 0) * Self.burst
  }

  /// Changes the rate.
  ///
  /// A debt is kept, but never takes more seconds than before.
  mutating func setRate(_ newRate: Int64?, at instant: Double) {
    refill(instant)
    let new = newRate.map { Double(max(1, $0)) }
    if let new, tokens > new * Self.burst { tokens = new * Self.burst }
    if let new, let rate, tokens < 0 { tokens *= min(1, new / rate) }
    if rate == nil || new == nil { tokens = (new ?? 0) * Self.burst }
    rate = new
  }

  /// Takes `bytes` that have arrived.
  mutating func take(_ bytes: Int, at instant: Double) {
    guard rate != nil else { return }
    refill(instant)
    tokens -= Double(bytes)
  }

  /// Returns the seconds until more may be taken.
  ///
  /// 0 if it may be now.
  mutating func wait(at instant: Double) -> Double {
    guard let rate else { return 0 }
    refill(instant)
    return tokens > 0 ? 0 : max(0.001, (1 - tokens) / rate)
  }

  private mutating func refill(_ now: Double) {
    guard let rate, now > instant else { return }
    tokens = min(rate * Self.burst, tokens + (now - instant) * rate)
    instant = now
  }
}
