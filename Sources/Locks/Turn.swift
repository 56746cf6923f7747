/// A turn that one thread has at a time, also while it waits for the disk.
package protocol Turn: Sendable {
  /// Calls `body` once nobody else has the turn.
  func take<Value>(_ body: () throws -> Value) rethrows -> Value
}

/// The turn of real threads.
package final class LockedTurn: Turn {
  private let lock = Mutex(())

  package init() {}

  package func take<Value>(_ body: () throws -> Value) rethrows -> Value {
    try lock.withLock { _ in try body() }
  }
}
