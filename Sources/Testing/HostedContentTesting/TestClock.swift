public import FoundationEssentials
package import HostedContent
import Concurrency
import ContentModel

/// A date that only the test moves; may be used from any thread.
///
/// Expiry and the dates of purchases follow it. Rates, time-outs and pauses between attempts follow
/// the system's clock.
public final class TestClock: Sendable {
  private let date: Mutex<Date>

  /// Begins at `date`, by default noon of 1 January 2030 UTC, so that every run sees the same
  /// dates.
  public init(_ date: Date = Date(timeIntervalSince1970: 1_893_499_200)) {
    self.date = Mutex(date)
  }

  /// The date now.
  public var now: Date { date.withLock { $0 } }

  /// Moves the date forward, or back if `duration` is negative.
  public func advance(by duration: Duration) {
    date.withLock { $0 = $0.addingTimeInterval(duration.inSeconds) }
  }

  package var engineClock: EngineClock {
    EngineClock(now: { self.now }, uptime: EngineClock.system.uptime)
  }
}
