import HostedConcurrency
import Dispatch

/// A value that tests can change, read and wait for, from any thread.
package final class Watched<Value: Sendable>: Sendable {
  private struct Waiter: Sendable {
    let condition: @Sendable (Value) -> Bool
    let resume: @Sendable () -> Void
  }

  private let state: Mutex<(value: Value, waiters: [Waiter])>

  package init(_ value: Value) { state = Mutex((value, [])) }

  package var value: Value { state.withLock { $0.value } }

  /// Changes the value, and resumes those whose conditions hold then.
  @discardableResult
  package func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    let (result, ready) = state.withLock { state in
      let result = body(&state.value)
      let value = state.value
      let ready = state.waiters.filter { $0.condition(value) }
      state.waiters.removeAll { $0.condition(value) }
      return (result, ready)
    }
    ready.forEach { $0.resume() }
    return result
  }

  /// Suspends the task until `condition` holds.
  package func wait(until condition: @escaping @Sendable (Value) -> Bool) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      call(when: condition) { continuation.resume() }
    }
  }

  /// Blocks the thread until `condition` holds.
  package func block(until condition: @escaping @Sendable (Value) -> Bool) {
    let holds = DispatchSemaphore(value: 0)
    call(when: condition) { holds.signal() }
    holds.wait()
  }

  private func call(
    when condition: @escaping @Sendable (Value) -> Bool, _ resume: @escaping @Sendable () -> Void
  ) {
    let holds = state.withLock { state in
      if condition(state.value) { return true }
      state.waiters.append(Waiter(condition: condition, resume: resume))
      return false
    }
    if holds { resume() }
  }
}
