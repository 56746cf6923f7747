import HostedModel
import Dispatch

/// Calls a handler after a time without progress, so that no command waits forever.
// Sendable, because a dispatch source can be scheduled and canceled on any thread.
final class Watchdog: @unchecked Sendable {
  // Its own queue, because all threads of the global queues may be busy with downloads.
  private let timer = DispatchSource.makeTimerSource(
    queue: DispatchQueue(label: "hostedcontent.watchdog"))
  private let seconds: Int

  init(seconds: Int) { self.seconds = seconds }

  /// Starts the timeout; must be called, because a source that never started cannot be released.
  func start(onExpiry: @escaping @Sendable (ContentError) -> Void) {
    timer.setEventHandler { [seconds] in
      onExpiry(
        ContentError(
          .timedOut, "No progress for \(Console.count(seconds, "second"))",
          remedy: "Run hostedcontent queue to see what waits, then run the command again"))
    }
    feed()
    timer.resume()
  }

  deinit { timer.cancel() }

  /// Stops the timeout until `feed` is called.
  func pause() { timer.schedule(deadline: .distantFuture) }

  func feed() { timer.schedule(deadline: .now() + .seconds(seconds)) }
}
