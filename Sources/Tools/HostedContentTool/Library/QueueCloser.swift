import Dispatch
import HostedContent
import Concurrency

/// Closes a queue, after an interrupt for a bounded time only.
final class QueueCloser: Sendable {
  private let queue: PaymentQueue
  private let seconds: Int
  private let hasBegun = Atomic(false)
  private let work = DispatchQueue(label: "hostedcontent.closing")

  init(_ queue: PaymentQueue, seconds: Int = 5) {
    self.queue = queue
    self.seconds = seconds
  }

  /// Begins to close the queue at once and does not wait.
  func begin() {
    guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
    // Not in a task: these share their threads with the downloads and may not get one soon.
    work.async { [queue] in queue.close() }
  }

  /// Closes the queue and waits; a few seconds at most if that was begun by an interrupt.
  ///
  /// Work that hangs in a system call, as on a network disk, is then ended with the process. It
  /// survives that as it survives a crash.
  func close() {
    guard hasBegun.load(ordering: .relaxed) else { return queue.close() }
    let closed = DispatchSemaphore(value: 0)
    work.async { closed.signal() }
    _ = closed.wait(timeout: .now() + .seconds(seconds))
  }
}
