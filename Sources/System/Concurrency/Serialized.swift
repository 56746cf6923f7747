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
