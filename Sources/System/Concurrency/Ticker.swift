import ContentModel
import Dispatch

/// Calls a body again and again on its own thread, until it is stopped.
package final class Ticker: Sendable {
  private let isStopped: DispatchSemaphore
  private let thread: Serialized<WorkThread?>

  /// Starts the thread, which waits for `interval` before each call.
  ///
  /// Throws `tooFewThreads` if the system does not allow a thread.
  package init(every interval: Duration, _ body: @escaping @Sendable () -> Void) throws {
    let isStopped = DispatchSemaphore(value: 0)
    self.isStopped = isStopped
    thread = Serialized(
      try WorkThread("a thread for repeated work") {
        while isStopped.wait(timeout: .now() + interval.inSeconds) == .timedOut { body() }
      })
  }

  deinit { stop() }

  /// Ends the thread, and waits for a running call of the body; do not call it in the body.
  package func stop() {
    isStopped.signal()
    thread.use { thread in
      thread?.end()
      thread = nil
    }
  }
}
