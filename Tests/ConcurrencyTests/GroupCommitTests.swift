import HostedConcurrency
import Dispatch
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Group commit", .timeLimit(.hang))
struct GroupCommitTests {
  /// Joins a step for each number from 1 on while number 0 runs its step.
  ///
  /// Returns the groups of requests that were performed together.
  private func groups(
    of count: Int,
    outcome: @escaping @Sendable (Int) -> Result<Void, any Error> = { _ in .success(()) }
  ) -> (groups: [[Int]], failed: Set<Int>) {
    let waiters = Atomic(0)
    let watch = SignalWatch { waiters.add(1, ordering: .relaxed) }
    let step = GroupCommit<Int> { watch.signal() }
    let groups = Mutex<[[Int]]>([])
    let failed = Mutex<Set<Int>>([])
    let isFirstAtIt = DispatchSemaphore(value: 0)
    let mayGoOn = DispatchSemaphore(value: 0)
    let ended = DispatchGroup()
    let join: @Sendable (Int) -> Void = { number in
      do {
        try step.join(number) { numbers in
          if numbers.contains(0) {
            isFirstAtIt.signal()
            mayGoOn.wait()
          }
          groups.withLock { $0.append(numbers) }
          return numbers.map(outcome)
        }
      } catch {
        _ = failed.withLock { $0.insert(number) }
      }
      ended.leave()
    }
    for number in 0..<count {
      ended.enter()
      Thread.detachNewThread { join(number) }
      if number == 0 { isFirstAtIt.wait() }
    }
    blockUntil { waiters.load(ordering: .relaxed) == count - 1 }
    mayGoOn.signal()
    ended.wait()
    return (groups.withLock { $0 }, failed.withLock { $0 })
  }

  @Test("Callers that arrive during a step share the next step, each once")
  func sharing() {
    let found = groups(of: 9).groups
    #expect(found.map(\.count) == [1, 8])
    #expect(found.first == [0])
    #expect(Set(found.flatMap { $0 }) == Set(0..<9))
  }

  @Test("Each caller gets the outcome of its own request")
  func errors() {
    let found = groups(of: 6) { number in
      number.isMultiple(of: 2) ? .success(()) : .failure(CancellationError())
    }
    #expect(found.failed == [1, 3, 5])
  }

  @Test("A single caller runs each step at once")
  func alone() throws {
    let step = GroupCommit<String>()
    var calls: [[String]] = []
    for name in ["a", "b"] {
      try step.join(name) { names in
        calls.append(names)
        return names.map { _ in .success(()) }
      }
    }
    #expect(calls == [["a"], ["b"]])
    #expect(throws: CancellationError.self) {
      try step.join("c") { $0.map { _ in .failure(CancellationError()) } }
    }
  }
}
