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
