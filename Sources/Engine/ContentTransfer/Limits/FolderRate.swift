import ContentModel
import Glibc
import Concurrency

/// The rate limit of a store in a folder.
///
/// All transfers of a queue share it. Use it from any thread.
package final class FolderRate: Sendable {
  private struct State {
    var limits: TransferLimits
    var schedule: RateSchedule
  }

  private let state: Mutex<State>
  private let clock: TransferClock
  private let sleep: @Sendable (Double) -> Void

  /// The maximum sleep in seconds, so that a cancelled transfer ends soon.
  private static let longestSleep = 0.1

  /// Creates a limit; tests pass a clock and a function that sleeps for a number of seconds.
  package init(
    _ limits: TransferLimits, clock: TransferClock = .system,
    sleep: @escaping @Sendable (Double) -> Void = { usleep(UInt32($0 * 1e6)) }
  ) {
    state = Mutex(
      State(
        limits: limits,
        schedule: RateSchedule(bytesPerSecond: limits.bytesPerFolder, at: clock.uptime())))
    self.clock = clock
    self.sleep = sleep
  }

  /// The limits; a change applies at once, also to running transfers.
  package var limits: TransferLimits {
    get { state.withLock { $0.limits } }
    set {
      state.withLock { state in
        state.limits = newValue
        state.schedule.setRate(newValue.bytesPerFolder.map(Double.init), at: clock.uptime())
      }
    }
  }

  /// Waits until `count` more bytes may be read; throws `stopped` soon after `ticket` is cancelled.
  func wait(for count: Int, _ ticket: TransferTicket) throws {
    while true {
      try ticket.checkCancelled()
      let seconds = state.withLock { state in
        let now = clock.uptime()
        let seconds = state.schedule.wait(at: now)
        if seconds == 0 { state.schedule.take(Double(count), at: now) }
        return seconds
      }
      if seconds == 0 { return }
      sleep(min(max(0.001, seconds), Self.longestSleep))
    }
  }
}

extension TransferLimits {
  /// The limit of a folder, which counts as one host.
  fileprivate var bytesPerFolder: Int64? {
    [bytesPerSecond, bytesPerSecondPerHost].compactMap(\.self).min()
  }
}
