public import FoundationEssentials
package import HostedConcurrency

/// A clock that only the test advances.
///
/// Thread-safe. Expiry and purchase dates use it. Rates, timeouts and retry delays use the system's
/// clock.
public final class TestClock: Sendable {
  private let date: Mutex<Date>

  /// Starts at `date`.
  ///
  /// The default is noon of 1 January 2030 UTC, so that runs are reproducible.
  public init(_ date: Date = Date(timeIntervalSince1970: 1_893_499_200)) { self.date = Mutex(date) }

  /// The current date.
  public var now: Date { date.withLock { $0 } }

  /// Moves the date forward, or back if `duration` is negative.
  public func advance(by duration: Duration) {
    date.withLock { $0 = $0.addingTimeInterval(duration.inSeconds) }
  }

  package var engineClock: EngineClock {
    EngineClock(now: { self.now }, uptime: EngineClock.system.uptime)
  }
}
