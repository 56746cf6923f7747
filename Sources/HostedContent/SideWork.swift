import FileIO
import Locks

/// Blocking work beside the caller's, on a thread of its own; its result is waited for.
struct SideWork<Value: Sendable> {
  private let thread: WorkThread
  private let outcome: Outcome

  private final class Outcome: Sendable {
    let value = Mutex<Result<Value, any Error>?>(nil)
  }

  /// What the thread is given, released before its end.
  private final class Body: @unchecked Sendable {
    // Unchecked, because only the thread that works uses what these hold until `result()` has waited for it.
    let body: () throws -> Value
    let onFailure: (any Error) -> Void

    init(_ body: @escaping () throws -> Value, _ onFailure: @escaping (any Error) -> Void) {
      self.body = body
      self.onFailure = onFailure
    }
  }

  /// Starts at once; `onFailure` hears an error as soon as it is thrown.
  ///
  /// What the closures hold must stand being used by another thread until `result` has returned. Throws if
  /// the system gives no thread.
  init(
    _ body: @escaping () throws -> Value, onFailure: @escaping (any Error) -> Void
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

  /// What the work came to; to be asked once.
  ///
  /// Waits for the thread's end, so that nothing of the work is left when it returns.
  func result() -> Result<Value, any Error> {
    thread.end()
    return outcome.value.withLock { $0 } ?? .failure(CancellationError())
  }
}
