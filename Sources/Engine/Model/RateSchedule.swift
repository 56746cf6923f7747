/// Paces bytes or calls, so that their rate stays below a limit (generic cell rate algorithm).
///
/// Pure: callers pass the time, in seconds of any clock. A take is never refused: it moves the
/// schedule, and `wait` returns the time until the limit is kept again.
package struct RateSchedule: Sendable {
  /// Units per second; nil for no limit.
  package private(set) var rate: Double?
  /// How much may be taken at once after a pause, in seconds of the rate.
  private let burst: Double
  /// When everything that was taken has passed at this rate.
  private var end: Double

  package init(rate: Double?, burst: Double, at now: Double) {
    self.rate = rate.map { max(1, $0) }
    self.burst = burst
    end = now
  }

  /// Takes `units`.
  ///
  /// Afterwards, `wait` returns at most `maximumWait`.
  package mutating func take(_ units: Double, at now: Double, maximumWait: Double = .infinity) {
    guard let rate else { return }
    end = min(max(end, now - burst) + units / rate, now + maximumWait)
  }

  /// Returns the time in seconds until more may be taken; 0 if it may be now.
  package func wait(at now: Double) -> Double { rate == nil ? 0 : max(0, end - now) }

  /// Changes the rate; what was taken still counts, but the wait does not become longer.
  package mutating func setRate(_ newRate: Double?, at now: Double) {
    let new = newRate.map { max(1, $0) }
    if let new, let rate {
      end = now + max(-burst, end - now) * min(1, rate / new)
    } else {
      end = now
    }
    rate = new
  }
}

extension Duration {
  package var inSeconds: Double { self / .seconds(1) }
}
