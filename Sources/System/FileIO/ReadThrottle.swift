import Glibc

/// Limits the read rate, so that a verification does not block other disk access.
///
/// For one thread. Uses the system's clock unless a test passes its own.
package final class ReadThrottle {
  private let bytesPerSecond: Double
  private let now: () -> Double
  private let sleep: (Double) -> Void
  private let start: Double
  private var bytes = 0.0

  /// `now` returns seconds of a monotonic clock; `sleep` waits for a number of seconds.
  package init(
    bytesPerSecond: Int64, now: @escaping () -> Double = ReadThrottle.monotonicSeconds,
    sleep: @escaping (Double) -> Void = { usleep(UInt32(min($0, 3600) * 1_000_000)) }
  ) {
    self.bytesPerSecond = Double(max(1, bytesPerSecond))
    self.now = now
    self.sleep = sleep
    start = now()
  }

  /// Adds `count` bytes, and waits until the average rate is below the limit.
  package func pass(_ count: Int) {
    bytes += Double(count)
    let early = start + bytes / bytesPerSecond - now()
    if early > 0 { sleep(early) }
  }

  /// The seconds of a monotonic clock.
  package static func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
