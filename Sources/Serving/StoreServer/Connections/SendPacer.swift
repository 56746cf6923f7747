import Concurrency

/// A line of a fixed rate: whoever sends is told how long the line is busy with it.
///
/// The schedule counts from the line's own end, not from when a sleeper woke, so that late wake-ups
/// do not add up; a line that was idle owes nobody for more than a moment.
final class SendPacer: Sendable {
  private let bytesPerSecond: Int64
  private let freeAt: Mutex<ContinuousClock.Instant>

  private static let allowance = Duration.milliseconds(20)

  init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    freeAt = Mutex(now)
  }

  /// Takes the line for `count` bytes; returns when they have passed, seen from `now`.
  func delay(of count: Int, now: ContinuousClock.Instant = .now) -> Duration {
    let (seconds, rest) = Int64(count).quotientAndRemainder(dividingBy: bytesPerSecond)
    let time = Duration.seconds(seconds) + .seconds(Double(rest) / Double(bytesPerSecond))
    return freeAt.withLock { freeAt in
      freeAt = max(freeAt, now - Self.allowance) + time
      return freeAt - now
    }
  }

  /// How many bytes are best sent at once: about 5 ms of them.
  var portion: Int { Int(min(64 << 10, max(1, bytesPerSecond / 200))) }
}
