import HostedModel
import Dispatch
import HostedConcurrency

/// Runs blocking calls on threads outside the task pool, until it is closed.
final class BlockingCalls: Sendable {
  private let gate: ActivityGate
  private let start: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void

  /// `start` runs a body on a thread that may block.
  init(
    _ makeSignal: @escaping MakeThreadSignal,
    start: @escaping @Sendable (_ body: @escaping @Sendable () -> Void) -> Void
  ) {
    gate = ActivityGate(makeSignal)
    self.start = start
  }

  /// Creates an instance that runs one call at a time.
  convenience init(serial label: String) {
    let serial = DispatchQueue(label: label)
    self.init(DispatchSemaphore.unsent) { serial.async(execute: $0) }
  }

  var isClosed: Bool { gate.isClosed }

  /// Runs `body` and returns its value; throws `stopped` if this is closed.
  func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      guard gate.begin() else { return continuation.resume(throwing: ContentError.queueClosed) }
      start { [gate] in
        let result = gate.isClosed ? .failure(ContentError.queueClosed) : Result { try body() }
        gate.end()
        continuation.resume(with: result)
      }
    }
  }

  /// Throws `stopped` if this is closed; long-running bodies call it.
  func check() throws {
    if isClosed { throw ContentError.queueClosed }
  }

  /// Refuses further calls and waits for the running one.
  func close() {
    gate.close()
    gate.wait()
  }
}

extension ContentError {
  static let queueClosed = ContentError(
    .stopped, "The queue is closed, and another queue may own its library",
    remedy: "Open the library with a new queue")
}
