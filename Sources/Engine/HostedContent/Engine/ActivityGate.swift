import Dispatch
import FileIO
import Glibc
import Concurrency

/// Counts activities in progress, and lets none begin once it is closed.
///
/// May be used from any thread; no activity runs inside the lock.
final class ActivityGate: Sendable {
  private struct State {
    var isClosed = false
    var count = 0
    /// The threads on which `perform` runs.
    var threads: [pthread_t] = []
    /// Sent when `count` becomes 0.
    var waiting: [any ThreadSignal] = []
  }

  private let state = Mutex(State())
  private let makeSignal: MakeThreadSignal

  init(_ makeSignal: @escaping MakeThreadSignal = DispatchSemaphore.unsent) {
    self.makeSignal = makeSignal
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether an activity may begin; call `end()` when one that began has ended.
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

  /// Runs `body` unless the gate is closed; nil then.
  ///
  /// A thread that closes the gate within `body` does not wait for itself.
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

  /// Lets no further activity begin.
  func close() { state.withLock { $0.isClosed = true } }

  /// Waits until no activity is in progress, at most until `deadline`; at once within `perform`.
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
