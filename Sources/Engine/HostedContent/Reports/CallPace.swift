import Dispatch

/// Limits the rate of calls about changed downloads; pure.
///
/// A burst of a few calls is allowed, enough for the life of one download, so that the report of
/// its end does not wait because its start was just reported. After that, calls are paced and
/// reports share them.
struct CallPace {
  /// The number of calls allowed in a burst.
  static let atOnce = 8
  /// The time between paced calls, in nanoseconds.
  static let pause: UInt64 = 20_000_000

  /// When a full burst is allowed again, on the clock of `DispatchTime`.
  private var isFullAt: UInt64 = 0

  /// Returns the time of the next call, now or later.
  func next(at now: DispatchTime) -> DispatchTime {
    let ahead = UInt64(Self.atOnce - 1) * Self.pause
    return DispatchTime(
      uptimeNanoseconds: max(now.uptimeNanoseconds, max(isFullAt, ahead) - ahead))
  }

  /// Records a call, whether on time or early.
  ///
  /// After any number of early calls, the next one waits at most one pause.
  mutating func note(at now: DispatchTime) {
    let emptied = now.uptimeNanoseconds + UInt64(Self.atOnce) * Self.pause
    isFullAt = min(max(isFullAt, now.uptimeNanoseconds) + Self.pause, emptied)
  }
}
