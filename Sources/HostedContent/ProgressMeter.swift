import Glibc

/// How far a download is, as its handle shows it.
struct DownloadProgress: Hashable, Sendable {
  /// 0 to 1.
  var fraction: Double
  /// Seconds; −1 while unknown.
  var timeRemaining: Double
}

/// Turns bytes and instants into a fraction and a time remaining; pure, time is handed in.
///
/// The rate is smoothed exponentially with a time constant of 1.5 s, so that it follows a change
/// of rate to 4 % within 5 s and does not jump with every piece.
struct ProgressMeter {
  private static let timeConstant = 1.5

  private let total: Int64
  private var done: Int64 = 0
  private var instant: Double
  /// Bytes a second; nil until two instants are known.
  private var rate: Double?

  /// Begins an attempt that has `total` bytes to move and write; `instant` is in seconds.
  init(total: Int64, at instant: Double) {
    self.total = max(0, total)
    self.instant = instant
  }

  /// Takes note that `done` bytes were moved and written by `instant`; it never goes back.
  mutating func advance(to done: Int64, at instant: Double) -> DownloadProgress {
    let elapsed = instant - self.instant
    let moved = max(0, done - self.done)
    if elapsed > 0 {
      let present = Double(moved) / elapsed
      let weight = 1 - exp(-elapsed / Self.timeConstant)
      rate = rate.map { $0 + weight * (present - $0) } ?? present
      self.instant = instant
    }
    self.done = min(total, self.done + moved)
    return progress
  }

  private var progress: DownloadProgress {
    guard total > 0 else { return DownloadProgress(fraction: 0, timeRemaining: -1) }
    let left = Double(total - done)
    // Below one byte a second a time would be a guess.
    let time = left == 0 ? 0 : rate.map { $0 >= 1 ? left / $0 : -1 } ?? -1
    return DownloadProgress(fraction: Double(done) / Double(total), timeRemaining: time)
  }
}
