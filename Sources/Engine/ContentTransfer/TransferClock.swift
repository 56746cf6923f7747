package import FoundationEssentials
import Glibc

/// Where transfers get the time from; tests hand in their own.
package struct TransferClock: Sendable {
  /// The date, for dates that servers send and people see.
  package let now: @Sendable () -> Date
  /// Seconds since some instant, never going back.
  package let uptime: @Sendable () -> Double

  package init(now: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Double) {
    self.now = now
    self.uptime = uptime
  }

  /// The system's clocks, asked anew each time.
  package static let system = TransferClock(
    now: { Date() },
    uptime: {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    })

  /// The date at which `uptime` will be what it is asked about.
  func date(of instant: Double) -> Date { now().addingTimeInterval(instant - uptime()) }
}
