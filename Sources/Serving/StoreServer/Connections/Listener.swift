import CLinux
import ContentModel
import Dispatch
import FileIO
import Glibc
import Concurrency

/// A listening socket with a thread that accepts connections and closes overdue ones.
package final class Listener: Sendable {
  private let socket: Int32
  /// Whether another process continues to use the socket.
  private let isShared: Bool
  private let connections: ConnectionTable
  private let stop: StopLatch
  private let take: @Sendable (Int32) -> Handling
  private let thread = DispatchGroup()

  /// The handling of a new connection.
  package enum Handling {
    /// Another object has taken ownership.
    case taken
    /// It stays open without a response until the client leaves.
    case held
    /// Nothing more is sent. It stays open until the client leaves, because closing it with unread
    /// bytes would send a reset.
    case ended
  }

  private static let backlog: Int32 = 512
  private static let maximumHeld = 256
  /// The maximum of unsent bytes in a connection's buffer, so that counted bytes are nearly sent.
  ///
  /// It must hold two segments of the loopback interface. Otherwise, both sides wait for each
  /// other.
  private static let maximumUnsent: Int32 = 160 << 10

  /// Listens on a bound socket, and takes ownership of it; `address` and `port` are for errors.
  package init(
    _ socket: Int32, isShared: Bool = false, at address: String, port: UInt16,
    _ connections: ConnectionTable, _ stop: StopLatch, take: @escaping @Sendable (Int32) -> Handling
  ) throws {
    self.socket = socket
    self.isShared = isShared
    guard Glibc.listen(socket, Self.backlog) == 0 else {
      let number = errno
      close(socket)
      throw Self.refused(address, port, String(cString: strerror(number)))
    }
    self.connections = connections
    self.stop = stop
    self.take = take
    DispatchQueue(label: "hostedcontent.listener").async(group: thread) { [self] in run() }
  }

  /// Waits until the thread has ended, after the latch was set.
  package func join() { thread.wait() }

  private func run() {
    var held: [Int32] = []
    defer {
      // Until its exec, a process that another thread is starting has a copy, which would listen.
      if !isShared { shutdown(socket, Int32(SHUT_RDWR)) }
      ([socket] + held).forEach { close($0) }
    }
    while true {
      var waited = [
        pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      waited += held.map { pollfd(fd: $0, events: Int16(hc_poll_peer_closed()), revents: 0) }
      guard poll(&waited, nfds_t(waited.count), connections.endOverdue()) > 0 else { continue }
      if waited[1].revents != 0 { return }
      let left = Set(waited.dropFirst(2).filter { $0.revents != 0 }.map(\.fd))
      left.forEach { close($0) }
      held.removeAll { left.contains($0) }
      if waited[0].revents != 0 { acceptAll(&held) }
    }
  }

  private func acceptAll(_ held: inout [Int32]) {
    while true {
      let connection = hc_accept(socket)
      guard connection >= 0 else {
        if errno == ECONNABORTED || errno == EINTR { continue }
        // Without descriptors the socket stays readable. One may be available a moment later.
        if errno == EMFILE || errno == ENFILE || errno == ENOMEM { pauseBriefly() }
        return
      }
      for (option, value) in [(TCP_NODELAY, 1), (TCP_NOTSENT_LOWAT, Self.maximumUnsent)] {
        var value = value
        setsockopt(
          connection, Int32(IPPROTO_TCP), option, &value, socklen_t(MemoryLayout<Int32>.size))
      }
      switch take(connection) {
      case .taken: continue
      case .held: break
      case .ended: shutdown(connection, Int32(SHUT_WR))
      }
      held.append(connection)
      if held.count > Self.maximumHeld { close(held.removeFirst()) }
    }
  }

  private func pauseBriefly() {
    var waited = pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)
    poll(&waited, 1, 10)
  }

  // MARK: The socket

  /// Creates a socket that is bound to `address` and `port`.
  ///
  /// Port 0 selects a free port.
  package static func bind(
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

  /// Returns the port of a bound TCP socket, or nil.
  package static func boundPort(_ socket: Int32) -> UInt16? {
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
