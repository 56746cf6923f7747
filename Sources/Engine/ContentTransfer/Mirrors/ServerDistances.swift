import Concurrency

/// How far servers are away, as the last connection to each was measured; shared by all transfers
/// of a session.
final class ServerDistances: Sendable {
  /// Seconds to a server and back, by origin.
  private let roundTrips = Mutex<[String: Double]>([:])
  private let isBehindProxy: Bool

  /// Where a proxy may be used, nothing is known of servers: the way that is measured is the one to
  /// it.
  init(behind proxy: ProxySetting) { isBehindProxy = proxy.mayBeUsed }

  /// Takes note that a new connection to `origin` takes `roundTrip` seconds there and back.
  func note(_ roundTrip: Double, to origin: String) {
    guard !isBehindProxy else { return }
    roundTrips.withLock { $0[origin] = roundTrip }
  }

  /// Seconds from which on a request more takes longer than the bytes that it could save.
  private static let long = 0.015

  /// Whether the way to `origin` is so long that requests for little are better left out.
  func isLong(to origin: String) -> Bool {
    roundTrips.withLock { $0[origin] ?? 0 } >= Self.long
  }

  /// Whether one connection fills the way to `origin`.
  ///
  /// The bytes of a second one would only push those of the first out of the processor's cache
  /// before they are hashed and written.
  func isShort(to origin: String) -> Bool {
    let roundTrip = roundTrips.withLock { $0[origin] }
    return roundTrip.map { ReceiveWindow.isAmple(roundTrip: $0) } ?? false
  }
}
