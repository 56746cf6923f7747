import CLinux
import Glibc

/// How much may lie in a connection's socket that nobody has read yet.
///
/// The system lets it grow to many megabytes for whoever reads slowly, even where the way is so
/// short that nothing is gained by it. What lies there when the process dies was sent in vain, and
/// is sent again.
enum ReceiveWindow {
  /// So much is always good: the other side need not wait for each of our turns.
  private static let minimum = 384 << 10
  /// Bytes a second that a single connection may need: those of a line of 10 Gbit/s.
  private static let fastest = 1.25e9
  /// A longer way than this leaves the choice to the system, which knows the way best.
  private static let maximum = 1 << 20

  /// Bytes that keep a way of `roundTrip` seconds full at any speed; nil where the system chooses.
  static func bytes(roundTrip: Double) -> Int? {
    let wanted = max(Double(minimum), roundTrip * fastest)
    return wanted <= Double(maximum) ? Int(wanted) : nil
  }

  /// Whether the least of it keeps a way of `roundTrip` seconds full.
  static func isAmple(roundTrip: Double) -> Bool { roundTrip * fastest <= Double(minimum) }

  /// Bounds what `socket` holds, if it is connected from `port`; how many seconds its way there and
  /// back takes.
  ///
  /// Another one is closed, and its number may be somebody else's by now. Does nothing where nobody
  /// knows how long the way is.
  static func bound(_ socket: Int32, port: Int) -> Double? {
    let microseconds = hc_tcp_round_trip(socket)
    guard microseconds >= 0, self.port(of: socket) == port else { return nil }
    let roundTrip = Double(microseconds) / 1e6
    if let bytes = bytes(roundTrip: roundTrip) {
      // The system doubles what it is told, for its own bookkeeping.
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
    // The port lies at the same place in the addresses of IPv4.
    return result == 0 ? Int(UInt16(bigEndian: address.sin6_port)) : nil
  }
}
