import Dispatch

/// A lock per key.
///
/// Calls for the same key run one at a time, and other keys are independent. Use it from any
/// thread. A call blocks while another call has its key. Unlocked keys use no memory.
package final class KeyedLock<Key: Hashable & Sendable>: Sendable {
  /// The waiting calls for each locked key.
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
    // The previous call passes the lock on, so that no third call can take it in between.
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

/// Runs one call of a long operation, such as a refresh, at a time.
package typealias OperationLock = KeyedLock<SingleOperation>

/// The only key of an `OperationLock`.
package enum SingleOperation: Sendable { case key }

extension KeyedLock where Key == SingleOperation {
  /// Calls `body` while no other call is in progress, and returns its value.
  package func withLock<Value>(_ body: () throws -> Value) rethrows -> Value {
    try withLock(for: .key, body)
  }
}

/// A value that one call at a time uses, such as a connection to a database.
///
/// Unlike under a `Mutex`, a call may do I/O and take long. Use it from any thread; a call blocks
/// while another one uses the value. Do not use the value again inside a call.
// Unchecked, because only the call that holds the lock uses the value.
package final class Serialized<Value: ~Copyable>: @unchecked Sendable {
  private let lock = OperationLock()
  private var value: Value

  package init(_ value: consuming sending Value) { self.value = value }

  /// Calls `body` while no other call uses the value.
  package func use<Output>(_ body: (inout Value) throws -> Output) rethrows -> Output {
    try lock.withLock { try body(&value) }
  }
}
