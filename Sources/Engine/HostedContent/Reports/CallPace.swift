import Dispatch

/// When the next call about changed downloads may be made; pure.
///
/// A few at once, as one download has in its life, so that nobody waits for its end because its
/// beginning was told just before; then one in a while, which many share.
struct CallPace {
  /// Calls that may be made at once after a time without any.
  static let atOnce = 8
  /// Nanoseconds that each of them stands for.
  static let pause: UInt64 = 20_000_000

  /// When all of them may be made at once again, by the clock of `DispatchTime`.
  private var isFullAt: UInt64 = 0

  /// The instant of the next call, now or later.
  func next(at now: DispatchTime) -> DispatchTime {
    let ahead = UInt64(Self.atOnce - 1) * Self.pause
    return DispatchTime(
      uptimeNanoseconds: max(now.uptimeNanoseconds, max(isFullAt, ahead) - ahead))
  }

  /// Notes that a call is made, in its time or because it could not wait.
  ///
  /// However many could not, the next one waits for no longer than a pause.
  mutating func note(at now: DispatchTime) {
    let emptied = now.uptimeNanoseconds + UInt64(Self.atOnce) * Self.pause
    isFullAt = min(max(isFullAt, now.uptimeNanoseconds) + Self.pause, emptied)
  }
}
