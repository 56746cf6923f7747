import HostedConcurrency
import HostedModel
import Glibc

/// Limits the read rate, so that a verification does not block other disk access.
///
/// For one thread. Uses the system's clock unless a test passes its own.
package final class ReadThrottle {
  private let now: () -> Double
  private let sleep: (Double) -> Void
  private var schedule: RateSchedule

  /// `now` returns seconds of a monotonic clock; `sleep` waits for a number of seconds.
  package init(
    bytesPerSecond: Int64, now: @escaping () -> Double = EngineClock.system.uptime,
    sleep: @escaping (Double) -> Void = { usleep(UInt32(min($0, 3600) * 1_000_000)) }
  ) {
    self.now = now
    self.sleep = sleep
    // The average counts, since other work, such as hashing, takes time in between.
    schedule = RateSchedule(rate: Double(bytesPerSecond), burst: .infinity, at: now())
  }

  /// Adds `count` bytes, and waits until the average rate is below the limit.
  package func pass(_ count: Int) {
    let time = now()
    schedule.take(Double(count), at: time)
    let early = schedule.wait(at: time)
    if early > 0 { sleep(early) }
  }
}
