import Glibc

/// Holds reading back to so many bytes a second, so that a check does not take the disk from
/// others.
///
/// For one thread; the clock is the system's unless a test hands in its own.
package final class ReadThrottle {
  private let bytesPerSecond: Double
  private let now: () -> Double
  private let sleep: (Double) -> Void
  private let start: Double
  private var bytes = 0.0

  /// `now` says seconds of a steady clock, `sleep` waits for seconds.
  package init(
    bytesPerSecond: Int64, now: @escaping () -> Double = ReadThrottle.steadySeconds,
    sleep: @escaping (Double) -> Void = { usleep(UInt32(min($0, 3600) * 1_000_000)) }
  ) {
    self.bytesPerSecond = Double(max(1, bytesPerSecond))
    self.now = now
    self.sleep = sleep
    start = now()
  }

  /// Takes note of `count` bytes, and waits until as much time has passed as they may take.
  package func pass(_ count: Int) {
    bytes += Double(count)
    let early = start + bytes / bytesPerSecond - now()
    if early > 0 { sleep(early) }
  }

  /// Seconds of a clock that is never set.
  package static func steadySeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
