import ContentModel
import Dispatch
import Concurrency

/// Calls when nothing happened for a while, so that no command waits for ever.
// Sendable because a dispatch source may be scheduled and cancelled from any thread.
final class Watchdog: @unchecked Sendable {
  private let timer: any DispatchSourceTimer
  private let seconds: Int
  private let expiry = Mutex<(@Sendable (ContentError) -> Void)?>(nil)

  init(seconds: Int) {
    self.seconds = seconds
    // A queue of its own, since the threads of the global ones may all be busy with downloads.
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

  /// Something happened: the time begins anew.
  func feed() { timer.schedule(deadline: .now() + .seconds(seconds)) }

  private func expire() {
    onExpiry?(
      ContentError(
        .timedOut, "Nothing succeeded for \(seconds) \(seconds == 1 ? "second" : "seconds")",
        remedy: "Look at hostedcontent queue for what waits, and run the command again"))
  }
}
