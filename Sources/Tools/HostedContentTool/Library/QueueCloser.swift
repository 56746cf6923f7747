import Dispatch
import HostedContent
import Concurrency

/// Closes a queue; after an interrupt, the wait is limited.
final class QueueCloser: Sendable {
  private let queue: PaymentQueue
  private let seconds: Int
  private let hasBegun = Atomic(false)
  private let work = DispatchQueue(label: "hostedcontent.closing")

  init(_ queue: PaymentQueue, seconds: Int = 5) {
    self.queue = queue
    self.seconds = seconds
  }

  /// Starts to close the queue without waiting.
  func begin() {
    guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
    // Not in a task, because the downloads may occupy all threads of the task pool.
    work.async { [queue] in queue.close() }
  }

  /// Closes the queue and waits.
  ///
  /// If an interrupt has started it, waits for a few seconds at most. Work that hangs in a system
  /// call, for example on a network disk, ends with the process. That is as safe as a crash.
  func close() {
    guard hasBegun.load(ordering: .relaxed) else { return queue.close() }
    let closed = DispatchSemaphore(value: 0)
    work.async { closed.signal() }
    _ = closed.wait(timeout: .now() + .seconds(seconds))
  }
}
