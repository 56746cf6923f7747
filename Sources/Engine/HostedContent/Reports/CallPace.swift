import HostedModel
import Dispatch

/// Limits the rate of calls about changed downloads; pure.
///
/// A burst of a few calls is allowed, enough for the life of one download, so that the report of
/// its end does not wait because its start was just reported. After that, calls are paced and
/// reports share them.
struct CallPace {
  /// The number of calls allowed in a burst.
  static let atOnce = 8
  /// The time between paced calls, in seconds.
  static let pause = 0.02

  /// On the clock of `DispatchTime`.
  private var schedule = RateSchedule(
    rate: 1 / Self.pause, burst: Double(Self.atOnce - 1) * Self.pause, at: -1)

  /// Returns the time of the next call, now or later.
  func next(at now: DispatchTime) -> DispatchTime {
    now + .nanoseconds(Int((schedule.wait(at: now.seconds) * 1e9).rounded()))
  }

  /// Records a call, whether on time or early.
  ///
  /// After any number of early calls, the next one waits at most one pause.
  mutating func note(at now: DispatchTime) {
    schedule.take(1, at: now.seconds, maximumWait: Self.pause)
  }
}

extension DispatchTime {
  fileprivate var seconds: Double { Double(uptimeNanoseconds) / 1e9 }
}
