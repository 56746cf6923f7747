import Glibc

/// A port that is one server's, whether it listens there or not.
///
/// Nobody else gets it in between, and who connects while nobody listens is refused. It is a socket
/// that has the port and never listens. A second one may have it, too, only while both allow that
/// (SO_REUSEADDR), which this one does for as long as `lend` takes.
final class HeldPort: Sendable {
  let number: UInt16
  private let socket: Int32

  /// Takes the port at `address`, any that is free for 0.
  ///
  /// Throws `cannotListen` when somebody has it.
  init(_ address: String, _ port: UInt16) throws {
    (socket, number) = try Listener.bind(address, port)
    allowSecond(false)
  }

  /// Lets `body` listen at the port; it must do so before it returns.
  func lend<Result>(_ body: (UInt16) throws -> Result) rethrows -> Result {
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
