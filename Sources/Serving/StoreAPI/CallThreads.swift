import Concurrency
package import ContentModel

/// Threads for calls that may block, such as those that wait for another server.
///
/// Thread-safe.
package final class CallThreads: Sendable {
  private let calls: BlockingQueue<@Sendable () -> Void>
  private let threads: Mutex<[WorkThread]>
  private let maximumWaiting: Int

  /// Starts the threads.
  ///
  /// Throws `tooFewThreads` if the system does not allow them.
  package init(count: Int, maximumWaiting: Int = 256) throws(ContentError) {
    self.maximumWaiting = maximumWaiting
    let calls = BlockingQueue<@Sendable () -> Void>()
    self.calls = calls
    var threads: [WorkThread] = []
    do throws(WorkThread.NoThread) {
      for _ in 0..<count {
        threads.append(try WorkThread { while let call = calls.next() { call() } })
      }
    } catch {
      calls.close()
      throw error.error("Cannot start the threads of the store server")
    }
    self.threads = Mutex(threads)
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
    let ending = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    for thread in ending { thread.end() }
  }
}
