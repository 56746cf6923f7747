import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// Signs and writes targets, snapshot and timestamp, in this order, so that the last one shows all.
///
/// All keys that are needed are asked for before the first file is written, so that a missing one
/// leaves everything as it was.
struct MetadataWriter {
  let folder: Directory
  let keys: StoreKeys
  let root: RootRole
  let now: Date

  private static let snapshotLifetime: TimeInterval = 365 * 86_400
  private static let timestampLifetime: TimeInterval = 90 * 86_400

  func expires(in lifetime: TimeInterval) -> Date { now.wholeSeconds(adding: lifetime) }

  func publish(
    _ targets: TargetsRole, over earlier: SnapshotRole? = nil, snapshotVersion: Int64,
    timestampVersion: Int64
  ) throws {
    let bytes = try keys.signer(.targets, of: root).sign(targets)
    guard bytes.count <= RoleName.targets.limit else {
      throw ContentError(
        .limitExceeded, "The catalogue would have \(bytes.count) bytes, more than clients read",
        remedy: "Retire old versions, or divide the products between two stores")
    }
    try publish(
      promised: MetadataFile(version: targets.version, bytes: bytes), over: earlier,
      snapshotVersion: snapshotVersion, timestampVersion: timestampVersion
    ) { try folder.replaceFile("\(targets.version).targets.json", with: bytes) }
  }

  /// Calls `before` when the keys are here and nothing is written yet.
  func publish(
    promised targets: MetadataFile, over earlier: SnapshotRole?, snapshotVersion: Int64,
    timestampVersion: Int64, before: () throws -> Void = {}
  ) throws {
    let snapshot = SnapshotRole(
      version: snapshotVersion, expires: expires(in: Self.snapshotLifetime), targets: targets,
      others: earlier?.files ?? [:])
    let bytes = try keys.signer(.snapshot, of: root).sign(snapshot)
    try publish(
      MetadataFile(version: snapshotVersion, bytes: bytes), timestampVersion: timestampVersion
    ) {
      try before()
      try folder.replaceFile("\(snapshotVersion).snapshot.json", with: bytes)
    }
  }

  /// Calls `before` when the key is here and nothing is written yet.
  func publish(
    _ snapshot: MetadataFile, timestampVersion: Int64, before: () throws -> Void = {}
  ) throws {
    let timestamp = TimestampRole(
      version: timestampVersion, expires: expires(in: Self.timestampLifetime), snapshot: snapshot)
    let bytes = try keys.signer(.timestamp, of: root).sign(timestamp)
    try before()
    try folder.replaceFile("timestamp.json", with: bytes)
  }
}

extension Date {
  func wholeSeconds(adding interval: TimeInterval) -> Date {
    Date(timeIntervalSince1970: (timeIntervalSince1970 + interval).rounded(.down))
  }
}
