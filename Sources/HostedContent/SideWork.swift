import Dispatch
import Locks

/// Blocking work beside the caller's, on a thread of its own; its result is waited for.
final class SideWork<Value: Sendable>: @unchecked Sendable {
  // Unchecked, because `body` and `onFailure` are called once, by the one thread that works.

  private let body: () throws -> Value
  private let onFailure: (any Error) -> Void
  private let outcome = Mutex<Result<Value, any Error>?>(nil)
  private let isDone = DispatchSemaphore(value: 0)

  /// Starts at once; `onFailure` hears an error as soon as it is thrown.
  ///
  /// What the closures hold must stand being used by another thread until `result` has returned.
  init(
    _ label: String, _ body: @escaping () throws -> Value,
    onFailure: @escaping (any Error) -> Void
  ) {
    self.body = body
    self.onFailure = onFailure
    DispatchQueue(label: label).async { self.run() }
  }

  private func run() {
    let result = Result { try body() }
    if case .failure(let error) = result { onFailure(error) }
    outcome.withLock { $0 = result }
    isDone.signal()
  }

  /// What the work came to.
  ///
  /// Waits for its end; to be asked once.
  func result() -> Result<Value, any Error> {
    isDone.wait()
    return outcome.withLock { $0 } ?? .failure(CancellationError())
  }
}
