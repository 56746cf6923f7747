import Dispatch
import Glibc

/// A port that belongs to a server even while the server does not listen.
///
/// No other process can take the port in between, and connections are refused while nothing
/// listens. It is a socket that is bound to the port but never listens. A second socket can only
/// bind the port while both have SO_REUSEADDR, which this socket has during `lend`.
package final class HeldPort: Sendable {
  package let number: UInt16
  private let socket: Int32
  /// Held by the thread that binds: while one socket allows a second one, another server of this
  /// process must not get the same port as a free one.
  private static let binding = DispatchSemaphore(value: 1)

  /// Binds the port at `address`.
  ///
  /// Port 0 selects a free port. Throws `cannotListen` if the port is in use.
  package init(_ address: String, _ port: UInt16) throws {
    Self.binding.wait()
    defer { Self.binding.signal() }
    (socket, number) = try Listener.bind(address, port)
    allowSecond(false)
  }

  /// Lets `body` listen on the port; it must do so before it returns.
  package func lend<Result>(_ body: (UInt16) throws -> Result) rethrows -> Result {
    Self.binding.wait()
    defer { Self.binding.signal() }
    allowSecond(true)
    defer { allowSecond(false) }
    return try body(number)
  }

  private func allowSecond(_ allowed: Bool) {
    var value: Int32 = allowed ? 1 : 0
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(socket) }
}
