import Foundation
import HostedConcurrency
package import Testing

extension Trait where Self == OwnThreads {
  /// For tests that keep a thread busy for a long time.
  package static var long: Self { OwnThreads(shared: .long) }

  /// For tests that block a thread while they wait for a server or a timer.
  package static var waiting: Self { OwnThreads(shared: .waiting) }
}

/// Runs tests on a few shared threads, instead of the pool with one thread per processor.
///
/// All other tests then find the pool free, and their waits end in time. Do not use it for exit
/// tests: they wait for a thread between the start of the process and the wait for its end, and
/// until then the testing library polls.
package struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
  fileprivate let shared: TestThreads

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(shared, operation: function)
  }
}

private final class TestThreads: TaskExecutor {
  // Enough to keep two processors busy while half of them wait for a program or a disk.
  static let long = TestThreads(4)
  static let waiting = TestThreads(24)

  private let jobs = Mutex<[UnownedJob]>([])
  private let count = DispatchSemaphore(value: 0)

  private init(_ threads: Int) {
    for _ in 0..<threads { Thread.detachNewThread { [self] in run() } }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    count.signal()
  }

  private func run() {
    while true {
      count.wait()
      let job = jobs.withLock { $0.removeFirst() }
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
