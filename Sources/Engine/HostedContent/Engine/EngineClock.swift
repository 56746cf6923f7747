package import FoundationEssentials
import Glibc

/// Where an engine gets the time from; tests hand in their own.
package struct EngineClock: Sendable {
  /// The date, for expiry and records.
  package let now: @Sendable () -> Date
  /// Seconds since some instant, never going back, for rates.
  package let uptime: @Sendable () -> Double

  package init(
    now: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Double
  ) {
    self.now = now
    self.uptime = uptime
  }

  /// The system's clocks, asked anew each time.
  package static let system = EngineClock(
    now: { Date() },
    uptime: {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    })
}
