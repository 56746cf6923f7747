package import HostedModel

/// Blocking work on a separate thread, whose result the caller waits for.
package struct SideWork<Value: Sendable> {
  private let thread: WorkThread
  private let outcome: @Sendable () -> Result<Value, any Error>?

  /// Starts the work at once.
  ///
  /// `onFailure` is called with an error as soon as it is thrown. The thread uses the variables
  /// that the closures capture until `result` has returned. Throws if the system cannot start a
  /// thread.
  package init(
    _ body: @escaping () throws -> Value, onFailure: @escaping (any Error) -> Void = { _ in }
  ) throws(ContentError) {
    // Unchecked, because only the thread uses the captured variables until `result()` has returned.
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) let onFailure = onFailure
    let outcome = Mutex<Result<Value, any Error>?>(nil)
    self.outcome = { outcome.withLock { $0 } }
    thread = try WorkThread {
      let result = Result { try body() }
      if case .failure(let error) = result { onFailure(error) }
      outcome.withLock { $0 = result }
    }
  }

  /// Waits until the thread has ended, and returns its result; call it once.
  package func result() -> Result<Value, any Error> {
    thread.end()
    return outcome() ?? .failure(CancellationError())
  }
}
