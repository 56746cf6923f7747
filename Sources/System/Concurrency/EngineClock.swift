package import FoundationEssentials
import Glibc

/// The clocks of the engine; tests use their own.
package struct EngineClock: Sendable {
  /// Returns the current date, for expiry, records, and dates that servers send and users see.
  package let now: @Sendable () -> Date
  /// Returns the monotonic time in seconds since some start, for rates and timeouts.
  package let uptime: @Sendable () -> Double

  package init(now: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Double) {
    self.now = now
    self.uptime = uptime
  }

  /// The clocks of the system.
  package static let system = EngineClock(
    now: { Date() },
    uptime: {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    })

  /// Returns the date at which `uptime` reaches `instant`.
  package func date(of instant: Double) -> Date { now().addingTimeInterval(instant - uptime()) }
}
