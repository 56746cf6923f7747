import FileIO
package import FoundationEssentials

/// The clocks of an engine; tests provide their own.
package struct EngineClock: Sendable {
  /// Returns the date, for expiry and records.
  package let now: @Sendable () -> Date
  /// Returns seconds of a monotonic clock, for rates.
  package let uptime: @Sendable () -> Double

  package init(
    now: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Double
  ) {
    self.now = now
    self.uptime = uptime
  }

  /// The system's clocks.
  package static let system = EngineClock(
    now: { Date() }, uptime: { ReadThrottle.monotonicSeconds() })
}
