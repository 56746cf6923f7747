import HostedConcurrency
import HostedModel

/// Limits the rate of sent bytes: tells each sender how long to wait.
///
/// The schedule continues from its last end, not from the time when a sleeper woke, so that late
/// wake-ups do not add up. Idle time gives credit for a moment at most.
final class SendPacer: Sendable {
  private let bytesPerSecond: Int64
  private let start: ContinuousClock.Instant
  private let schedule: Mutex<RateSchedule>

  /// In seconds.
  private static let allowance = 0.02

  init(bytesPerSecond: Int64, now: ContinuousClock.Instant = .now) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    start = now
    schedule = Mutex(RateSchedule(rate: Double(self.bytesPerSecond), burst: Self.allowance, at: 0))
  }

  /// Schedules `count` bytes; returns the time from `now` until they have passed.
  func delay(of count: Int, now: ContinuousClock.Instant = .now) -> Duration {
    let time = (now - start) / .seconds(1)
    return schedule.withLock { schedule in
      schedule.take(Double(count), at: time)
      return .seconds(schedule.wait(at: time))
    }
  }

  /// The best number of bytes to send at once: about 5 ms.
  var portion: Int { Int(min(64 << 10, max(1, bytesPerSecond / 200))) }
}

/// The rate limits of a response: its own, and the server's limit, which all responses share.
struct Pace {
  let limiters: [SendPacer]

  /// The best number of bytes to send at once.
  var portion: Int { limiters.map(\.portion).min() ?? 64 << 10 }

  /// Waits until `count` bytes have passed; returns false if the client leaves or the server stops.
  func wait(for count: Int, _ wire: Wire) -> Bool {
    guard let delay = limiters.map({ $0.delay(of: count) }).max() else { return true }
    // Shorter delays accumulate, because a sleep is not that precise.
    return delay < .milliseconds(1) || wire.wait(delay)
  }
}
