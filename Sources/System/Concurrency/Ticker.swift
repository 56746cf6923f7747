import HostedModel
import Dispatch

/// Calls a body again and again on its own thread, until it is stopped.
package final class Ticker: Sendable {
  private let isStopped: DispatchSemaphore
  private let thread: WorkThread
  private let hasEnded = Serialized(false)

  /// Starts the thread, which waits for `interval` before each call.
  ///
  /// Throws `tooFewThreads` if the system does not allow a thread.
  package init(every interval: Duration, _ body: @escaping @Sendable () -> Void) throws {
    let isStopped = DispatchSemaphore(value: 0)
    self.isStopped = isStopped
    thread = try WorkThread("a thread for repeated work") {
      while isStopped.wait(timeout: .now() + interval.inSeconds) == .timedOut { body() }
    }
  }

  deinit {
    isStopped.signal()
    end()
  }

  /// Ends the thread, and waits for a running call of the body, unless it is called in the body.
  package func stop() {
    isStopped.signal()
    // Another thread may wait for the body while it has `hasEnded`.
    if !thread.isCurrent { end() }
  }

  private func end() {
    hasEnded.use { hasEnded in
      if !hasEnded { thread.end() }
      hasEnded = true
    }
  }
}
