import FileIO
package import FoundationEssentials

/// The clocks of transfers; tests use their own.
package struct TransferClock: Sendable {
  /// The current date, for dates that servers send and users see.
  package let now: @Sendable () -> Date
  /// The monotonic time in seconds since some start.
  package let uptime: @Sendable () -> Double

  package init(now: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Double) {
    self.now = now
    self.uptime = uptime
  }

  package static let system = TransferClock(
    now: { Date() }, uptime: { ReadThrottle.monotonicSeconds() })

  /// Returns the date at which `uptime` reaches `instant`.
  func date(of instant: Double) -> Date { now().addingTimeInterval(instant - uptime()) }
}
