import Locks

/// How far servers are away, as the last connection to each was measured; shared by all transfers of a
/// session.
final class ServerDistances: Sendable {
  /// Seconds to a server and back, by origin.
  private let roundTrips = Mutex<[String: Double]>([:])

  /// Takes note that a new connection to `origin` takes `roundTrip` seconds there and back.
  func note(_ roundTrip: Double, to origin: String) {
    roundTrips.withLock { $0[origin] = roundTrip }
  }

  /// Whether one connection fills the way to `origin`.
  ///
  /// The bytes of a second one would only push those of the first out of the processor's cache before
  /// they are hashed and written.
  func isShort(to origin: String) -> Bool {
    let roundTrip = roundTrips.withLock { $0[origin] }
    return roundTrip.map { ReceiveWindow.isAmple(roundTrip: $0) } ?? false
  }
}
