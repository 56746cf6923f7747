package import HostedModel
import HostedFileIO
import HostedConcurrency

/// The space that downloads have reserved but not yet written.
///
/// Thread-safe. It prevents a download from using the space that another download needs.
final class SpaceLedger: Sendable {
  /// The space for the journal and for folders, in bytes.
  fileprivate static let margin: Int64 = 4 << 20

  fileprivate let root: Directory
  /// Held while free space is measured and claimed.
  private let claiming: OperationLock
  fileprivate let claims = Mutex<[ObjectIdentifier: SpaceReservation.Claim]>([:])

  init(_ root: Directory, _ makeSignal: @escaping MakeThreadSignal) {
    self.root = root
    claiming = OperationLock(makeSignal)
  }

  /// Sets the claim of `reservation` if it fits beside all others; throws `diskFull` otherwise.
  fileprivate func add(_ claim: SpaceReservation.Claim, of reservation: SpaceReservation) throws {
    try claiming.withLock {
      // Read the claims before the free space: concurrent writes are then counted twice, not
      // missed.
      let reserved = claims.withLock { Array($0.values) }.reduce(0) { $0 + $1.bytesLeft }
      let available = try root.availableBytes()
      let needed = claim.bytes + Self.margin
      guard needed <= available - reserved else {
        throw reservation.error(
          "needs \(needed) bytes", available, reserved: reserved,
          lacking: needed - (available - reserved))
      }
      claims.withLock { $0[ObjectIdentifier(reservation)] = claim }
    }
  }
}

/// The space that one download still needs, until `end`; for one thread.
package final class SpaceReservation: Sendable {
  /// The reserved space, and how much of it is not written yet.
  struct Claim: Sendable {
    let bytes: Int64
    let written: @Sendable () -> Int64

    var bytesLeft: Int64 { max(0, bytes - written()) }
  }

  private let ledger: SpaceLedger
  private let product: ProductIdentifier

  init(_ ledger: SpaceLedger, _ product: ProductIdentifier) {
    self.ledger = ledger
    self.product = product
  }

  /// Reserves `bytes`.
  ///
  /// `written` returns how many of them are on disk; it can run on any thread. Throws `diskFull` if
  /// they do not fit beside the reservations of others. Call it before writing.
  package func reserve(_ bytes: Int64, written: @escaping @Sendable () -> Int64) throws {
    try ledger.add(Claim(bytes: bytes, written: written), of: self)
  }

  /// Releases what is not written.
  package func end() { ledger.claims.withLock { $0[ObjectIdentifier(self)] = nil } }

  /// The error if the files do not fit: `bytes` are not written yet.
  package func error(lacking bytes: Int64, cause: ContentError) -> ContentError {
    guard let available = try? ledger.root.availableBytes() else { return cause }
    return error(
      "needs \(bytes) bytes more", available, lacking: max(bytes - available, SpaceLedger.margin),
      cause: cause.errorDescription)
  }

  fileprivate func error(
    _ need: String, _ available: Int64, reserved: Int64 = 0, lacking: Int64, cause: String? = nil
  ) -> ContentError {
    let others = reserved == 0 ? "" : ", \(reserved) of them for other downloads"
    let waiting = reserved == 0 ? "" : ", or wait for the other downloads,"
    return ContentError(
      .diskFull, "\(product) \(need) in \(ledger.root.path), where \(available) are free\(others)",
      remedy: "Free \(lacking) bytes there\(waiting) and try again", subject: product.rawValue,
      cause: cause)
  }
}
