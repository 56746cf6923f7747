import Dispatch

/// A lock for each key: calls for the same key run one at a time, those for other keys continue.
///
/// May be used from any thread; a call blocks while another one has its key. Keys are not kept.
package final class KeyedLock<Key: Hashable & Sendable>: Sendable {
  /// The calls that wait for each key that is locked.
  private let waiting = Mutex<[Key: [any ThreadSignal]]>([:])
  private let makeSignal: MakeThreadSignal

  package init(_ makeSignal: @escaping MakeThreadSignal = DispatchSemaphore.unsent) {
    self.makeSignal = makeSignal
  }

  /// Calls `body` while no other call has `key`, and returns its value.
  package func withLock<Value>(for key: Key, _ body: () throws -> Value) rethrows -> Value {
    let signal: (any ThreadSignal)? = waiting.withLock { waiting in
      guard waiting[key] != nil else {
        waiting[key] = []
        return nil
      }
      let signal = makeSignal()
      waiting[key]?.append(signal)
      return signal
    }
    // The previous call passes the lock on, so that no third one takes it in between.
    signal?.wait()
    defer { passOn(key) }
    return try body()
  }

  private func passOn(_ key: Key) {
    let next: (any ThreadSignal)? = waiting.withLock { waiting in
      guard let first = waiting[key]?.first else {
        waiting[key] = nil
        return nil
      }
      waiting[key]?.removeFirst()
      return first
    }
    next?.send()
  }
}
