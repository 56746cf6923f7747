import HostedConcurrency
import Dispatch

/// Lends connections, and keeps unused ones open.
final class PostgresPool: Sendable {
  private let places: DispatchSemaphore
  private let unused = Mutex<[PostgresConnection]>([])
  private let open: @Sendable () throws -> PostgresConnection

  /// Lends at most `count` connections at the same time.
  init(_ count: Int, open: @escaping @Sendable () throws -> PostgresConnection) {
    places = DispatchSemaphore(value: count)
    self.open = open
  }

  /// Calls `body` with a connection, and closes the connection if it throws.
  ///
  /// If an unused connection turns out to be lost at the first request, calls `body` again with a
  /// new one.
  func use<Value>(_ body: (PostgresConnection) throws -> Value) throws -> Value {
    places.wait()
    defer { places.signal() }
    if let connection = unused.withLock({ $0.popLast() }) {
      connection.successes = 0
      do {
        return try lend(connection, to: body)
      } catch let failure as PostgresFailure
        where failure.isDisconnected && connection.successes == 0
      {
        // Such as after a restart of the server: the other connections are lost, too.
        close()
      }
    }
    return try lend(open(), to: body)
  }

  private func lend<Value>(
    _ connection: PostgresConnection, to body: (PostgresConnection) throws -> Value
  ) throws -> Value {
    let value = try body(connection)
    unused.withLock { $0.append(connection) }
    return value
  }

  /// Closes unused connections.
  func close() {
    let closed = unused.withLock { unused in
      defer { unused = [] }
      return unused
    }
    // Closing sends a message, so it is done without the lock.
    withExtendedLifetime(closed) {}
  }
}
