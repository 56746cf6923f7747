/// Blocking work on a separate thread, whose result the caller waits for.
package struct SideWork<Value: Sendable> {
  private let thread: WorkThread
  private let outcome: Outcome

  private final class Outcome: Sendable {
    let value = Mutex<Result<Value, any Error>?>(nil)
  }

  /// The closures of the thread, which are released before it ends.
  private final class Body: @unchecked Sendable {
    // Unchecked, because only the thread uses the captured variables until `result()` has returned.
    let body: () throws -> Value
    let onFailure: (any Error) -> Void

    init(_ body: @escaping () throws -> Value, _ onFailure: @escaping (any Error) -> Void) {
      self.body = body
      self.onFailure = onFailure
    }
  }

  /// Starts the work at once.
  ///
  /// `onFailure` is called with an error as soon as it is thrown. The thread uses the variables
  /// that the closures capture until `result` has returned. Throws if the system cannot start a
  /// thread.
  package init(
    _ body: @escaping () throws -> Value, onFailure: @escaping (any Error) -> Void = { _ in }
  ) throws(WorkThread.NoThread) {
    let outcome = Outcome()
    let body = Body(body, onFailure)
    self.outcome = outcome
    thread = try WorkThread {
      let result = Result { try body.body() }
      if case .failure(let error) = result { body.onFailure(error) }
      outcome.value.withLock { $0 = result }
    }
  }

  /// Waits until the thread has ended, and returns its result; call it once.
  package func result() -> Result<Value, any Error> {
    thread.end()
    return outcome.value.withLock { $0 } ?? .failure(CancellationError())
  }
}
