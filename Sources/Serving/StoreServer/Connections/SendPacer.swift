import Concurrency

/// Limits the rate of sent bytes: tells each sender how long to wait.
///
/// The schedule continues from its last end, not from the time when a sleeper woke, so that late
/// wake-ups do not add up. Idle time gives credit for a moment at most.
final class SendPacer: Sendable {
  private let bytesPerSecond: Int64
  private let freeAt: Mutex<ContinuousClock.Instant>

  private static let allowance = Duration.milliseconds(20)

  init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    freeAt = Mutex(now)
  }

  /// Schedules `count` bytes.
  ///
  /// Returns the time from `now` until they have passed.
  func delay(of count: Int, now: ContinuousClock.Instant = .now) -> Duration {
    let (seconds, rest) = Int64(count).quotientAndRemainder(dividingBy: bytesPerSecond)
    let time = Duration.seconds(seconds) + .seconds(Double(rest) / Double(bytesPerSecond))
    return freeAt.withLock { freeAt in
      freeAt = max(freeAt, now - Self.allowance) + time
      return freeAt - now
    }
  }

  /// The best number of bytes to send at once: about 5 ms.
  var portion: Int { Int(min(64 << 10, max(1, bytesPerSecond / 200))) }
}
