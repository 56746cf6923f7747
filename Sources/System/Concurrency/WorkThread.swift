import Glibc
import HostedCLinux
package import HostedModel

/// A thread that runs a function and ends, for work that blocks or computes.
///
/// It uses batch scheduling, so that it does not preempt the thread that wakes it. It processes
/// megabytes at a time. With batch scheduling, context switches are half as frequent.
package struct WorkThread: Sendable {
  private let thread: pthread_t

  private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts a thread that runs `body`; throws `tooFewThreads`, with its `name`, if that fails.
  package init(
    _ name: String = "a thread", _ body: @escaping @Sendable () -> Void
  ) throws(ContentError) {
    let box = Unmanaged.passRetained(Box(body))
    var thread = pthread_t()
    let failure = pthread_create(
      &thread, nil,
      { context in
        hc_set_batch_scheduling()
        if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
    guard failure == 0 else {
      box.release()
      throw ContentError(
        .tooFewThreads, "Cannot start \(name)",
        remedy: "Raise the limit of processes, or end other processes",
        cause: String(cString: strerror(failure)))
    }
    self.thread = thread
  }

  /// Whether the caller runs on this thread; after its end, a new thread may have its identity.
  package var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

  /// Waits until the thread has ended and its thread-local storage is released.
  ///
  /// Call it once. On the thread itself, it detaches the thread instead.
  package func end() {
    if isCurrent {
      pthread_detach(thread)
    } else {
      pthread_join(thread, nil)
    }
  }
}

/// Threads that each run a body until it returns.
///
/// `deinit` joins them. The bodies block, so they are not tasks, which share a few threads.
package final class WorkerThreads {
  /// The number of processors, at most 16.
  package static var standardCount: Int { min(16, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

  private var threads: [WorkThread] = []

  /// Starts up to `count` threads, each with its number.
  ///
  /// Throws `tooFewThreads` if none starts. `body` must work with any number of threads.
  package init(count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    for number in 0..<max(1, count) {
      do {
        threads.append(try WorkThread { body(number) })
      } catch {
        guard threads.isEmpty else { return }
        throw error
      }
    }
  }

  /// Waits until all bodies have returned.
  package func join() {
    for thread in threads { thread.end() }
    threads = []
  }

  deinit { join() }
}

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
