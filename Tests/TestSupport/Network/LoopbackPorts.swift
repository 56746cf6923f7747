import Glibc

/// A loopback port that no other process gets by chance while this object exists.
///
/// Connections are refused until a server that shares ports (SO_REUSEADDR) listens on it.
package final class ReservedPort: Sendable {
  package let number: Int
  private let socket: Int32

  package init() throws { (socket, number) = try Loopback.bind() }

  deinit { close(socket) }
}

/// A loopback address that does not answer connection attempts, like a broken route.
///
/// It listens, but its queue of pending connections is full.
package final class DeadAddress: Sendable {
  private let sockets: [Int32]

  /// Uses `port` of `address`.
  package init(_ port: Int, of address: UInt32) throws {
    let listener = try Loopback.listen(at: port, of: address, backlog: 0).socket
    // One connection fills the queue. Packets of the others are dropped.
    sockets =
      [listener]
      + (0..<4).map { _ in
        let client = Loopback.stream()
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        _ = Loopback.at(UInt16(port), of: address) { connect(client, $0, $1) }
        return client
      }
  }

  deinit { for socket in sockets { close(socket) } }
}
