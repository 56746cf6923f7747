import HostedCLinux
import Dispatch
import Glibc

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

  private static let maximumHeld = 256
  /// The maximum of unsent bytes in a connection's buffer, so that counted bytes are nearly sent.
  ///
  /// It must hold two segments of the loopback interface. Otherwise, both sides wait for each
  /// other.
  private static let maximumUnsent: Int32 = 160 << 10

  /// Listens on `port`, and passes each new connection to `take` until the latch is set.
  init(
    _ port: HeldPort, _ connections: ConnectionTable, _ stop: StopLatch,
    take: @escaping @Sendable (Int32) -> Handling
  ) throws {
    socket = try port.listen()
    isShared = port.isInherited
    self.connections = connections
    self.stop = stop
    self.take = take
    DispatchQueue(label: "hostedcontent.listener").async(group: thread) { [self] in run() }
  }

  /// Waits until the thread has ended, after the latch was set.
  func join() { thread.wait() }

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
}
