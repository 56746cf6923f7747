import Foundation
import Concurrency
package import Testing

extension Trait where Self == LongTests {
  /// For tests that keep a thread busy for long.
  package static var long: Self { LongTests() }
}

/// Tests that keep a thread busy for long share a few threads, so that all the others find the pool
/// free and what they wait for comes in its time.
///
/// Not for exit tests: they wait for a thread between the start of the process and the wait for its
/// end, and until then the testing library polls.
package struct LongTests: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(LongTestThreads.shared, operation: function)
  }
}

private final class LongTestThreads: TaskExecutor {
  static let shared = LongTestThreads()

  private let jobs = Mutex<[UnownedJob]>([])
  private let count = DispatchSemaphore(value: 0)

  private init() {
    // As many as keep two processors busy while half of them wait for a program or a disk.
    for _ in 0..<4 { Thread.detachNewThread { [self] in run() } }
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
