import Foundation
import Concurrency
package import Testing

extension Trait where Self == LongTests {
  /// For tests that keep a thread busy for a long time.
  package static var long: Self { LongTests() }
}

/// Runs tests that keep a thread busy for a long time on a few shared threads.
///
/// All other tests then find the pool free, and their waits end in time. Do not use it for exit
/// tests: they wait for a thread between the start of the process and the wait for its end, and
/// until then the testing library polls.
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
    // Enough to keep two processors busy while half of them wait for a program or a disk.
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
