import Dispatch
import Glibc
import HostedFileIO
import HostedModel

/// A port that belongs to a server even while the server does not listen.
///
/// No other process can take the port in between, and connections are refused while nothing
/// listens. It is a socket that is bound to the port but never listens. A second socket can only
/// bind the port while both have SO_REUSEADDR, which this socket has during `listen`.
package final class HeldPort: Sendable {
  package let number: UInt16
  private let address: String
  private let socket: Int32
  /// Whether the socket belongs to another process, which continues to use it.
  let isInherited: Bool
  /// Held by the thread that binds: while one socket allows a second one, another server of this
  /// process must not get the same port as a free one.
  private static let binding = DispatchSemaphore(value: 1)
  private static let backlog: Int32 = 512

  /// Binds the port at `address`.
  ///
  /// Port 0 selects a free port. Throws `cannotListen` if the port is in use.
  package init(_ address: String, _ port: UInt16) throws {
    Self.binding.wait()
    defer { Self.binding.signal() }
    (socket, number) = try Self.bind(address, port)
    self.address = address
    isInherited = false
    allowSecond(false)
  }

  /// Uses copies of a bound TCP socket, such as one from systemd; `address` is for errors and URLs.
  package init(inherited socket: Int32, at address: String) throws {
    guard let port = Self.boundPort(socket) else {
      throw ContentError(
        .cannotListen, "Descriptor \(socket) is not a bound TCP socket",
        remedy: "Pass a TCP socket, such as with ListenStream= of a systemd socket unit")
    }
    (self.socket, number) = (socket, port)
    self.address = address
    isInherited = true
  }

  deinit { if !isInherited { close(socket) } }

  /// The URL of a server at the port, with a trailing slash.
  package func url(scheme: String) -> String {
    "\(scheme)://\(address.contains(":") ? "[\(address)]" : address):\(number)/"
  }

  /// Returns a new socket that listens on the port.
  func listen() throws -> Int32 {
    Self.binding.wait()
    defer { Self.binding.signal() }
    if !isInherited { allowSecond(true) }
    defer { if !isInherited { allowSecond(false) } }
    let listening = try isInherited ? copy() : Self.bind(address, number).socket
    guard Glibc.listen(listening, Self.backlog) == 0 else {
      let number = errno
      close(listening)
      throw Self.refused(address, self.number, String(cString: strerror(number)))
    }
    return listening
  }

  private func allowSecond(_ allowed: Bool) {
    var value: Int32 = allowed ? 1 : 0
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  private func copy() throws -> Int32 {
    let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw ContentError(errno: errno, .open, "the listening socket") }
    // Otherwise, accept(2) blocks if the client has left since poll(2).
    _ = fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) | O_NONBLOCK)
    return copy
  }

  /// Creates a socket that is bound to `address` and `port`.
  private static func bind(
    _ address: String, _ port: UInt16
  ) throws -> (socket: Int32, port: UInt16) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(address, "\(port)", &hints, &found)
    guard result == 0, let first = found else {
      throw refused(address, port, String(cString: gai_strerror(result)))
    }
    defer { freeaddrinfo(found) }
    let kind = first.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let socket = Glibc.socket(first.pointee.ai_family, kind, 0)
    guard socket >= 0 else { throw refused(address, port, String(cString: strerror(errno))) }
    var one: Int32 = 1
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    guard Glibc.bind(socket, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0,
      let bound = boundPort(socket)
    else {
      let number = errno
      close(socket)
      throw refused(address, port, String(cString: strerror(number)))
    }
    return (socket, bound)
  }

  private static func boundPort(_ socket: Int32) -> UInt16? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &address) { storage in
      let result = storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(socket, $0, &length)
      }
      let family = Int32(storage.pointee.ss_family)
      guard result == 0, family == AF_INET || family == AF_INET6 else { return nil }
      // IPv4 and IPv6 addresses have the port at the same offset.
      return storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        UInt16(bigEndian: $0.pointee.sin_port)
      }
    }
  }

  private static func refused(_ address: String, _ port: UInt16, _ cause: String) -> ContentError {
    ContentError(
      .cannotListen, "Cannot listen at \(address), port \(port)",
      remedy: "Choose another address or port. Port 0 selects a free port", subject: address,
      cause: cause)
  }
}

/// Sockets that systemd opens for a service (sd_listen_fds(3)).
package enum SocketActivation {
  /// The first descriptor that systemd passes.
  private static let first: Int32 = 3

  /// Returns the socket for the process with this number, or nil.
  ///
  /// Throws `usage` if there are several.
  package static func socket(_ environment: [String: String], process: Int32) throws -> Int32? {
    // A child process inherits the variables, but the sockets are not for it.
    guard environment["LISTEN_PID"] == "\(process)",
      let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), count > 0
    else { return nil }
    guard count == 1 else {
      throw ContentError(
        .usage, "systemd passed \(count) sockets, expected 1",
        remedy: "Keep one ListenStream= in the socket unit")
    }
    return first
  }
}
