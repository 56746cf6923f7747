import ContentModel
import Glibc
import Concurrency

/// The limit of bytes a second for a store in a folder.
///
/// All transfers of a queue share it. May be used from any thread.
package final class FolderRate: Sendable {
  private struct State {
    var limits: TransferLimits
    var bucket: TokenBucket
  }

  private let state: Mutex<State>
  private let clock: TransferClock
  private let sleep: @Sendable (Double) -> Void

  /// The longest sleep in seconds, so that a transfer that was stopped ends soon.
  private static let longestSleep = 0.1

  /// Creates a limit; tests provide a clock and a function that sleeps for a number of seconds.
  package init(
    _ limits: TransferLimits, clock: TransferClock = .system,
    sleep: @escaping @Sendable (Double) -> Void = { usleep(UInt32($0 * 1e6)) }
  ) {
    state = Mutex(
      State(
        limits: limits, bucket: TokenBucket(rate: limits.bytesPerFolder, at: clock.uptime())))
    self.clock = clock
    self.sleep = sleep
  }

  /// A change takes effect at once, also for transfers in progress.
  package var limits: TransferLimits {
    get { state.withLock { $0.limits } }
    set {
      state.withLock { state in
        state.limits = newValue
        state.bucket.setRate(newValue.bytesPerFolder, at: clock.uptime())
      }
    }
  }

  /// Waits until `count` more bytes may be read; throws `stopped` soon after `ticket` was
  /// cancelled.
  func wait(for count: Int, _ ticket: TransferTicket) throws {
    while true {
      try ticket.checkCancelled()
      let seconds = state.withLock { state in
        let now = clock.uptime()
        let seconds = state.bucket.wait(at: now)
        if seconds == 0 { state.bucket.take(count, at: now) }
        return seconds
      }
      if seconds == 0 { return }
      sleep(min(seconds, Self.longestSleep))
    }
  }
}

extension TransferLimits {
  /// The limit that applies to a folder, which counts as one host.
  fileprivate var bytesPerFolder: Int64? {
    [bytesPerSecond, bytesPerSecondPerHost].compactMap(\.self).min()
  }
}
