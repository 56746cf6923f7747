import Foundation
import Glibc

/// Sockets on 127.0.0.1 for tests.
package enum Loopback {
  /// 127.0.0.1.
  package static let address: UInt32 = 0x7f00_0001

  /// Creates a listening socket on `port`, or on a free port.
  package static func listen(
    at port: Int = 0, of address: UInt32 = Loopback.address, backlog: Int32 = 128
  ) throws -> (socket: Int32, port: Int) {
    let bound = try bind(port, of: address)
    guard Glibc.listen(bound.socket, backlog) == 0 else {
      close(bound.socket)
      throw POSIXError(.EADDRNOTAVAIL)
    }
    return bound
  }

  /// Binds a socket to a free port.
  ///
  /// A server with SO_REUSEADDR can share the port.
  static func bind(
    _ port: Int = 0, of address: UInt32 = Loopback.address
  ) throws -> (socket: Int32, port: Int) {
    let descriptor = stream()
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var found = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &found) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        at(UInt16(port), of: address) { Glibc.bind(descriptor, $0, $1) } == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else {
      close(descriptor)
      throw POSIXError(.EADDRNOTAVAIL)
    }
    return (descriptor, Int(UInt16(bigEndian: found.sin_port)))
  }

  /// Whether `port` can be bound without SO_REUSEADDR; releases it at once.
  package static func canBind(_ port: UInt16) -> Bool {
    let descriptor = stream()
    defer { close(descriptor) }
    return at(port) { Glibc.bind(descriptor, $0, $1) } == 0
  }

  /// Whether a server accepts connections on `port`.
  package static func answers(on port: Int) -> Bool {
    let descriptor = stream()
    defer { close(descriptor) }
    return at(UInt16(port)) { connect(descriptor, $0, $1) } == 0
  }

  /// Creates a TCP socket.
  static func stream() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  /// Calls `body`, a system call that takes an address, with the address of `port`.
  static func at(
    _ port: UInt16, of host: UInt32 = Loopback.address,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = host.bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  static func readHead(_ socket: Int32) -> String? {
    var head: [UInt8] = []
    let end = Array("\r\n\r\n".utf8)
    var byte: UInt8 = 0
    while head.count < 1 << 16, recv(socket, &byte, 1, 0) == 1 {
      head.append(byte)
      if byte == end[3], head.suffix(4).elementsEqual(end) {
        return String(decoding: head, as: UTF8.self)
      }
    }
    return nil
  }

  /// Reads `count` bytes, or returns nil if the connection ends before.
  static func read(_ count: Int, from socket: Int32) -> [UInt8]? {
    guard count > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: count)
    return recv(socket, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
  }

  static func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var sent = 0
      while sent < buffer.count {
        let count = Glibc.send(
          socket, buffer.baseAddress.map { $0 + sent }, buffer.count - sent, Int32(MSG_NOSIGNAL))
        if count <= 0 { return false }
        sent += count
      }
      return true
    }
  }
}

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
