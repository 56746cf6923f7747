import ContentModel
import Dispatch
import Concurrency

/// Calls a handler after a time without progress, so that no command waits forever.
// Sendable, because a dispatch source can be scheduled and canceled on any thread.
final class Watchdog: @unchecked Sendable {
  private let timer: any DispatchSourceTimer
  private let seconds: Int
  private let expiry = Mutex<(@Sendable (ContentError) -> Void)?>(nil)

  init(seconds: Int) {
    self.seconds = seconds
    // Its own queue, because all threads of the global queues may be busy with downloads.
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "hostedcontent.watchdog"))
    timer.setEventHandler { [weak self] in self?.expire() }
    feed()
    timer.resume()
  }

  deinit { timer.cancel() }

  var onExpiry: (@Sendable (ContentError) -> Void)? {
    get { expiry.withLock { $0 } }
    set { expiry.withLock { $0 = newValue } }
  }

  /// Restarts the timeout.
  func feed() { timer.schedule(deadline: .now() + .seconds(seconds)) }

  private func expire() {
    onExpiry?(
      ContentError(
        .timedOut, "No progress for \(Console.count(seconds, "second"))",
        remedy: "Run hostedcontent queue to see what waits, then run the command again"))
  }
}
