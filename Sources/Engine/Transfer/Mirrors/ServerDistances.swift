import Glibc
import HostedCLinux
import HostedConcurrency

/// The round-trip times to servers, shared by all transfers of a session.
///
/// Measured on the last connection to each server.
final class ServerDistances: Sendable {
  /// Round-trip times in seconds, by origin.
  private let roundTrips = Mutex<[String: Double]>([:])
  private let isBehindProxy: Bool

  /// Creates an empty table; with a proxy, only the way to the proxy would be measured.
  init(behind proxy: ProxySetting) { isBehindProxy = !proxy.addresses.isEmpty }

  /// Records the round-trip time of a new connection to `origin`, in seconds.
  func note(_ roundTrip: Double, to origin: String) {
    guard !isBehindProxy else { return }
    roundTrips.withLock { $0[origin] = roundTrip }
  }

  /// The round-trip time in seconds from which a request takes longer than the bytes it saves.
  private static let long = 0.015

  /// Whether the round trip to `origin` is so long that small requests should be avoided.
  func isLong(to origin: String) -> Bool { roundTrips.withLock { $0[origin] ?? 0 } >= Self.long }

  /// Whether one connection is enough for the full rate of `origin`.
  ///
  /// The bytes of a second connection would evict those of the first one from the processor's cache
  /// before they are hashed and written.
  func isShort(to origin: String) -> Bool {
    let roundTrip = roundTrips.withLock { $0[origin] }
    return roundTrip.map { ReceiveWindow.isAmple(roundTrip: $0) } ?? false
  }
}

/// Limits the bytes that wait unread in a socket.
///
/// The system lets the receive buffer of a slow reader grow to many megabytes, even if the
/// round-trip time is so short that this gains nothing. If the process dies, these bytes are lost
/// and must be sent again.
enum ReceiveWindow {
  /// The minimum buffer, so that the sender does not wait for each read.
  private static let minimum = 384 << 10
  /// The maximum rate of a connection in bytes per second: 10 Gbit/s.
  private static let fastest = 1.25e9
  /// If more is needed, the system chooses the size, since it measures the connection.
  private static let maximum = 1 << 20

  /// Returns the buffer that a round trip at any speed needs, or nil if the system chooses.
  static func bytes(roundTrip: Double) -> Int? {
    let wanted = max(Double(minimum), roundTrip * fastest)
    return wanted <= Double(maximum) ? Int(wanted) : nil
  }

  /// Whether the minimum buffer is enough for this round-trip time, in seconds.
  static func isAmple(roundTrip: Double) -> Bool { roundTrip * fastest <= Double(minimum) }

  /// Limits the buffer of `socket` if it is connected from `port`.
  ///
  /// Returns the round-trip time in seconds. Returns nil and does nothing if it is unknown, or if
  /// the port differs: then the socket is closed, and another file may have its number.
  static func bound(_ socket: Int32, port: Int) -> Double? {
    let microseconds = hc_tcp_round_trip(socket)
    guard microseconds >= 0, self.port(of: socket) == port else { return nil }
    let roundTrip = Double(microseconds) / 1e6
    if let bytes = bytes(roundTrip: roundTrip) {
      // The system doubles this value for its own overhead.
      var value = Int32(bytes / 2)
      setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &value, socklen_t(MemoryLayout<Int32>.size))
    }
    return roundTrip
  }

  private static func port(of socket: Int32) -> Int? {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
    }
    // The port has the same offset in IPv4 addresses.
    return result == 0 ? Int(UInt16(bigEndian: address.sin6_port)) : nil
  }
}
