package import FoundationEssentials

/// How often and after how long something is tried again; pure.
package struct RetryPolicy: Hashable, Sendable {
  /// How often a piece, or a small file, is asked for in all.
  package var attempts = 5
  /// The first delay lies between 0 and this, in seconds; each further one may be twice as long.
  package var firstDelay = 0.5
  /// No delay of ours is longer, in seconds.
  package var longestDelay = 10.0
  /// How long a host may answer nothing but 429 and 503, in seconds; refusals are no attempts.
  package var busyTimeout = 90.0
  /// A server may ask for no longer wait, in seconds.
  package var longestRetryAfter = 60.0

  package init() {}

  /// Seconds to wait after failure number `failure` (from 1) in a row.
  ///
  /// Exponential back-off with full jitter: `random` from 0 to 1 chooses among all delays up to the
  /// longest, so that clients that failed together do not come back together. A server's wish is
  /// the least that is waited, up to `longestRetryAfter`.
  package func delay(afterFailure failure: Int, retryAfter: Double?, random: Double) -> Double {
    let exponent = Double(min(max(failure, 1), 32) - 1)
    let ceiling = min(longestDelay, firstDelay * exp2(exponent))
    let wish = min(max(retryAfter ?? 0, 0), longestRetryAfter)
    return max(ceiling * min(max(random, 0), 1), wish)
  }

  private func exp2(_ exponent: Double) -> Double {
    Double(sign: .plus, exponent: Int(exponent), significand: 1)
  }

  /// Seconds that a `Retry-After` header asks for: a number of them, or a date; nil for neither.
  package static func retryAfter(_ value: String?, now: Date) -> Double? {
    guard let value = value?.trimmed else { return nil }
    if let seconds = Int64(digits: value) { return Double(seconds) }
    return HTTPDate.seconds(value).map { max(0, Double($0) - now.timeIntervalSince1970) }
  }
}
