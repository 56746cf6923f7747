import HostedConcurrency
import Dispatch
import HostedTestTraits
import Testing

@Suite("Locks by key", .timeLimit(.hang))
struct KeyedLockTests {
  @Test("Calls of an operation run one at a time, also after a call that throws")
  func oneAtATime() {
    let lock = OperationLock()
    let state = Mutex((running: 0, most: 0, calls: 0))
    DispatchQueue.concurrentPerform(iterations: 200) { number in
      _ = try? lock.withLock {
        state.withLock { state in
          state.running += 1
          state.most = max(state.most, state.running)
          state.calls += 1
        }
        defer { state.withLock { $0.running -= 1 } }
        if number.isMultiple(of: 7) { throw CancellationError() }
      }
    }
    let found = state.withLock { $0 }
    #expect(found.most == 1)
    #expect(found.calls == 200)
  }

  @Test("Calls use a serialized value one at a time, also after a call that throws")
  func serialized() {
    let numbers = Serialized<[Int]>([])
    DispatchQueue.concurrentPerform(iterations: 200) { number in
      _ = try? numbers.use { numbers in
        numbers.append(number)
        if number.isMultiple(of: 7) { throw CancellationError() }
      }
    }
    #expect(numbers.use { $0.sorted() } == Array(0..<200))
  }

  @Test("Another key does not wait")
  func anotherKey() {
    let lock = KeyedLock<Int>()
    #expect(lock.withLock(for: 1) { lock.withLock(for: 2) { true } })
  }
}
