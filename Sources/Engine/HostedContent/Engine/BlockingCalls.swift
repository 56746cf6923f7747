import Dispatch
import Glibc
import HostedConcurrency

/// Runs blocking calls on threads outside the task pool, until it is closed.
final class BlockingCalls: Sendable {
  private let gate: ActivityGate
  private let begin: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void

  /// `start` runs a body on a thread that may block.
  init(
    _ makeSignal: @escaping MakeThreadSignal,
    start: @escaping @Sendable (_ body: @escaping @Sendable () -> Void) -> Void
  ) {
    gate = ActivityGate(makeSignal)
    begin = start
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
      begin { [gate] in
        let result = gate.isClosed ? .failure(ContentError.queueClosed) : Result { try body() }
        gate.end()
        continuation.resume(with: result)
      }
    }
  }

  /// Runs `body` without waiting for it; returns false if this is closed.
  func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    guard gate.begin() else { return false }
    begin { [gate] in
      body()
      gate.end()
    }
    return true
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

/// Counts activities in progress, and refuses new ones once it is closed.
///
/// May be used from any thread. Activities run outside the lock.
final class ActivityGate: Sendable {
  private struct State {
    var isClosed = false
    var count = 0
    /// The threads that are inside `perform`.
    var threads: [pthread_t] = []
    /// Signaled when `count` becomes 0.
    var waiting: [any ThreadSignal] = []
  }

  private let state = Mutex(State())
  private let makeSignal: MakeThreadSignal

  init(_ makeSignal: @escaping MakeThreadSignal = DispatchSemaphore.unsent) {
    self.makeSignal = makeSignal
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Returns whether an activity may begin; if so, call `end()` when it ends.
  func begin() -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      state.count += 1
      return true
    }
  }

  func end() {
    let waiting = state.withLock { state in
      state.count -= 1
      guard state.count == 0 else { return [any ThreadSignal]() }
      defer { state.waiting = [] }
      return state.waiting
    }
    for signal in waiting { signal.send() }
  }

  /// Runs `body` and returns its value; returns nil if the gate is closed.
  ///
  /// If `body` closes the gate, its thread does not wait for itself.
  func perform<Value>(_ body: () -> Value) -> Value? {
    let thread = pthread_self()
    guard begin() else { return nil }
    state.withLock { $0.threads.append(thread) }
    defer {
      state.withLock { state in
        if let place = state.threads.lastIndex(of: thread) { state.threads.remove(at: place) }
      }
      end()
    }
    return body()
  }

  func close() { state.withLock { $0.isClosed = true } }

  /// Waits until no activity is in progress, or until `deadline`.
  ///
  /// Returns at once if called within `perform`.
  func wait(until deadline: DispatchTime? = nil) {
    let signal = makeSignal()
    let mustWait = state.withLock { state in
      guard state.count > 0, !state.threads.contains(pthread_self()) else { return false }
      state.waiting.append(signal)
      return true
    }
    guard mustWait else { return }
    if let deadline { signal.wait(until: deadline) } else { signal.wait() }
  }
}
