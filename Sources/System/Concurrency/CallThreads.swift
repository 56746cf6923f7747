/// Threads for calls that may block, such as those that wait for another server.
///
/// Thread-safe.
package final class CallThreads: Sendable {
  private let calls: BlockingQueue<@Sendable () -> Void>
  private let threads: Serialized<WorkerThreads>
  private let maximumWaiting: Int

  /// Starts up to `count` threads; throws `tooFewThreads` if none starts.
  package init(count: Int, maximumWaiting: Int = 256) throws {
    let calls = BlockingQueue<@Sendable () -> Void>()
    self.calls = calls
    self.maximumWaiting = maximumWaiting
    threads = Serialized(
      try WorkerThreads(count: count) { _ in while let call = calls.next() { call() } })
  }

  deinit { close() }

  /// Runs `call` on one of the threads.
  ///
  /// Returns false if too many calls wait, or after `close`.
  package func run(_ call: @escaping @Sendable () -> Void) -> Bool {
    calls.add(call, if: { $0.count < maximumWaiting })
  }

  /// Waits for the calls that were added, and ends the threads.
  package func close() {
    calls.close()
    threads.use { $0.join() }
  }
}
