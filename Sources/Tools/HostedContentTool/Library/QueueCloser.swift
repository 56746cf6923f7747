import HostedConcurrency
import HostedModel
import Dispatch
import Glibc
import HostedContent

/// Closes a queue; after an interrupt or a timeout, the command ends even if work hangs.
///
/// Work may hang in a system call, for example on a network disk. It then ends with the process,
/// which is as safe as a crash.
final class QueueCloser: Sendable {
  private let queue: PaymentQueue
  private let seconds: Int
  private let endProcess: @Sendable () -> Void
  private let hasBegun = Atomic(false)
  private let isClosed = Atomic(false)
  private let work = DispatchQueue(label: "hostedcontent.closing")

  /// The standard limit is longer than a wait for a locked ledger, which is 10 seconds.
  ///
  /// Tests replace the end of the process.
  init(
    _ queue: PaymentQueue, _ console: Console, seconds: Int = 15,
    endProcess: (@Sendable () -> Void)? = nil
  ) {
    self.queue = queue
    self.seconds = seconds
    self.endProcess =
      endProcess ?? {
        console.report(.notClosed(after: seconds))
        let isInterrupted = console.signals?.hasArrived == true
        _exit((isInterrupted ? ExitStatus.interrupted : .failed).rawValue)
      }
  }

  /// Starts to close the queue without waiting; ends the process if that takes too long.
  func begin() {
    guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
    // Not in a task, because the downloads may occupy all threads of the task pool.
    work.async { [queue] in queue.close() }
    DispatchQueue(label: "hostedcontent.closing.limit").asyncAfter(
      deadline: .now() + .seconds(seconds)
    ) { [weak self] in
      if let self, !isClosed.load(ordering: .relaxed) { endProcess() }
    }
  }

  /// Closes the queue and waits.
  func close() {
    work.sync { queue.close() }
    isClosed.store(true, ordering: .relaxed)
  }
}

extension ContentError {
  fileprivate static func notClosed(after seconds: Int) -> ContentError {
    ContentError(
      .timedOut, "The library was not closed within \(Console.count(seconds, "second"))",
      remedy: "Check whether its disk responds, then run the command again to continue")
  }
}
