import Glibc

/// A connection of a client to a server on this machine.
package final class ClientSocket {
  /// How a connection ended.
  package enum End: Error, Hashable {
    case refused
    case closed
    case reset
    /// Nothing arrived within the time limit of tests.
    case silence
  }

  package let descriptor: Int32

  /// Connects to `port`, from the address `own` if given.
  package init(port: UInt16, from own: UInt32? = nil) throws(End) {
    descriptor = Loopback.stream()
    // Otherwise, single bytes would be sent together.
    var one: Int32 = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    // A long poll waits up to 30 s.
    var limit = timeval(tv_sec: 90, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    if let own { _ = Loopback.at(0, of: own) { bind(descriptor, $0, $1) } }
    guard Loopback.at(port, { connect(descriptor, $0, $1) }) == 0 else { throw .refused }
  }

  deinit { close(descriptor) }

  /// Sends all bytes, unless the connection has ended.
  package func send(_ bytes: [UInt8]) { _ = Loopback.send(bytes, to: descriptor) }

  /// Receives at least one byte, or throws how the connection ended.
  package func receive() throws(End) -> ArraySlice<UInt8> {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else {
      let end: End = count == 0 ? .closed : errno == ECONNRESET ? .reset : .silence
      throw end
    }
    return buffer[..<count]
  }

  /// Whether bytes or the end of the connection arrive within this time.
  package func hasInput(within milliseconds: Int32 = 0) -> Bool {
    var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&waited, 1, milliseconds) > 0
  }

  /// Ends the direction to the server.
  package func half() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Closes the connection.
  package func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
