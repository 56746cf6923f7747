import Concurrency

/// A value that tests can change, read and wait for, from any thread.
final class Watched<Value: Sendable>: Sendable {
  private struct Waiter: Sendable {
    let condition: @Sendable (Value) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private let state: Mutex<(value: Value, waiters: [Waiter])>

  init(_ value: Value) { state = Mutex((value, [])) }

  var value: Value { state.withLock { $0.value } }

  /// Changes the value, and resumes the tasks whose conditions hold then.
  @discardableResult
  func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    let (result, ready) = state.withLock { state in
      let result = body(&state.value)
      let value = state.value
      let ready = state.waiters.filter { $0.condition(value) }
      state.waiters.removeAll { $0.condition(value) }
      return (result, ready)
    }
    ready.forEach { $0.continuation.resume() }
    return result
  }

  /// Returns when `condition` holds.
  func wait(until condition: @escaping @Sendable (Value) -> Bool) async {
    await withCheckedContinuation { continuation in
      let holds = state.withLock { state in
        if condition(state.value) { return true }
        state.waiters.append(Waiter(condition: condition, continuation: continuation))
        return false
      }
      if holds { continuation.resume() }
    }
  }
}
