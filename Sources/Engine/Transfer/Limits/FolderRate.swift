import HostedModel
import Glibc
package import HostedConcurrency

/// The rate limit of a store in a folder.
///
/// All transfers of a queue share it. Use it from any thread.
package final class FolderRate: Sendable {
  private let limiter: Mutex<RateLimiter>
  private let clock: EngineClock
  private let sleep: @Sendable (Double) -> Void

  /// The maximum sleep in seconds, so that a cancelled transfer ends soon.
  private static let longestSleep = 0.1
  /// The name of the folder as a host, whose limit also applies.
  private static let origin = "file://"

  /// Creates a limit; tests pass a clock and a function that sleeps for a number of seconds.
  package init(
    _ limits: TransferLimits, clock: EngineClock = .system,
    sleep: @escaping @Sendable (Double) -> Void = { usleep(UInt32($0 * 1e6)) }
  ) {
    limiter = Mutex(RateLimiter(limits, at: clock.uptime()))
    self.clock = clock
    self.sleep = sleep
  }

  /// The limits; a change applies at once, also to running transfers.
  package var limits: TransferLimits {
    get { limiter.withLock { $0.limits } }
    set { limiter.withLock { $0.setLimits(newValue, at: clock.uptime()) } }
  }

  /// Waits until `count` more bytes may be read; throws `stopped` soon after `ticket` is cancelled.
  func wait(for count: Int, _ ticket: TransferTicket) throws {
    while true {
      try ticket.checkCancelled()
      let seconds = limiter.withLock { limiter in
        let now = clock.uptime()
        let seconds = limiter.wait(for: Self.origin, at: now)
        if seconds == 0 { limiter.take(count, for: Self.origin, at: now) }
        return seconds
      }
      if seconds == 0 { return }
      sleep(min(seconds, Self.longestSleep))
    }
  }
}
