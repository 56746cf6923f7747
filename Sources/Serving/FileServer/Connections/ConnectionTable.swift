import HostedConcurrency
import HostedModel
import Glibc

/// The limits of a server's connections.
package struct ConnectionLimits: Sendable {
  /// The maximum number of connections.
  ///
  /// Further connections are closed at once.
  package var connections: Int
  /// The maximum number of connections from one address; 0 is unlimited.
  ///
  /// Further connections are closed at once. IPv6 addresses are counted by /64 network.
  package var connectionsPerAddress: Int
  /// Whether loopback addresses have this limit; a proxy on this machine has one for all clients.
  package var limitsLoopback: Bool
  /// The time in which a new connection must send a complete request, head and body.
  package var requestTimeout: Duration = .seconds(10)
  /// The maximum time in seconds without a byte, or without a complete request after a response.
  package var idleSeconds = 60

  package init(connections: Int, connectionsPerAddress: Int, limitsLoopback: Bool) {
    self.connections = connections
    self.connectionsPerAddress = connectionsPerAddress
    self.limitsLoopback = limitsLoopback
  }
}

/// The open connections of a server, with limits per address and deadlines for complete requests.
///
/// Without limits, a few clients that send slowly or nothing at all would occupy all connections
/// and their threads.
package final class ConnectionTable: Sendable {
  let limits: ConnectionLimits
  private let entries = Serialized<[Int32: Entry]>([:])

  private struct Entry {
    let address: [UInt8]
    /// Nil while a response is prepared, or sent without a limit.
    var deadline: ContinuousClock.Instant?
  }

  package init(_ limits: ConnectionLimits) { self.limits = limits }

  private var idleTimeout: Duration { .seconds(limits.idleSeconds) }

  /// Adds a connection; returns false if there are too many, in total or from its address.
  func add(_ descriptor: Int32) -> Bool {
    let entry = Entry(address: Self.address(of: descriptor), deadline: .now + limits.requestTimeout)
    let limit = limits.connectionsPerAddress
    let isExempt = limit == 0 || !limits.limitsLoopback && Self.isLoopback(entry.address)
    return entries.use { entries in
      guard entries.count < limits.connections,
        isExempt
          || entries.values.count(where: { $0.address == entry.address }) < limit
      else { return false }
      entries[descriptor] = entry
      return true
    }
  }

  /// Sets the deadline of a response; nil if it may take any time.
  ///
  /// A connection may stay open longer than a `timeout` that is shorter than the idle time and the
  /// time for a request, by the shorter one of these.
  package func beginAnswer(_ descriptor: Int32, within timeout: Duration? = nil) {
    let deadline = timeout.map { ContinuousClock.now + $0 }
    entries.use { $0[descriptor]?.deadline = deadline }
  }

  /// Sets the deadline of the next request, after the end of a response.
  func endAnswer(_ descriptor: Int32) {
    let deadline = ContinuousClock.now + idleTimeout
    entries.use { $0[descriptor]?.deadline = deadline }
  }

  /// Removes a connection; call it before its descriptor is closed.
  func remove(_ descriptor: Int32) {
    entries.use { _ = $0.removeValue(forKey: descriptor) }
  }

  /// Shuts down overdue connections; returns the time until the next check, in milliseconds.
  func endOverdue() -> Int32 {
    let now = ContinuousClock.now
    // A shorter deadline of a response that is set in the meantime is noticed then.
    var next = now + min(idleTimeout, limits.requestTimeout)
    entries.use { entries in
      for (descriptor, entry) in entries {
        guard let deadline = entry.deadline else { continue }
        guard deadline <= now else {
          next = min(next, deadline)
          continue
        }
        // Inside: after `remove`, the descriptor may belong to another connection.
        shutdown(descriptor, Int32(SHUT_RDWR))
        entries[descriptor]?.deadline = nil
      }
    }
    return Int32(clamping: Int64((next - now).inSeconds * 1_000) + 1)
  }

  private static func isLoopback(_ address: [UInt8]) -> Bool {
    // ::1 is the only one in its /64 network.
    address.count == 4 ? address[0] == 127 : address == [0, 0, 0, 0, 0, 0, 0, 0]
  }

  /// The address for the limit.
  ///
  /// For IPv6 it is the /64 network, which one client can use completely.
  private static func address(of descriptor: Int32) -> [UInt8] {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      let result = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getpeername(descriptor, $0, &length)
      }
      // A client that has already disconnected has no address. Its connection is closed later.
      guard result == 0 else { return [] }
      if Int32(pointer.pointee.sin6_family) == AF_INET {
        return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          withUnsafeBytes(of: $0.pointee.sin_addr, Array.init)
        }
      }
      let bytes = withUnsafeBytes(of: pointer.pointee.sin6_addr, Array.init)
      let isMapped = bytes[..<12].elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])
      return Array(isMapped ? bytes[12...] : bytes[..<8])
    }
  }
}
