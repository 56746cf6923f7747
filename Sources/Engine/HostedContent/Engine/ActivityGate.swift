import Dispatch
import Glibc
import HostedConcurrency

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

  /// Refuses further activities.
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
