import Glibc

/// Keeps a port while nobody listens there: no other server gets it, and who connects is refused.
final class PortKeeper: Sendable {
  private let socket: Int32

  /// Nil when somebody has it already.
  init?(_ address: String, port: UInt16) {
    guard let (socket, _) = try? Listener.bind(address, port) else { return nil }
    self.socket = socket
    // It was to be had although old connections linger; from now on nobody else is to have it.
    var zero: Int32 = 0
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &zero, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(socket) }
}
