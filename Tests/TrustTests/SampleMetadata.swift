import HostedModel
import HostedTrust
import FoundationEssentials

/// A store's four keys, and metadata signed with them that a test can modify.
struct SampleMetadata {
  let keys: [RoleName: SigningKey]
  /// The time at which all metadata is valid.
  let now: Date
  let expires: Date

  init() throws {
    keys = try RoleName.allCases.reduce(into: [:]) { $0[$1] = try SigningKey.generate() }
    now = Date(timeIntervalSince1970: 1_900_000_000)
    expires = now.addingTimeInterval(1000)
  }

  private init(keys: [RoleName: SigningKey], now: Date) {
    self.keys = keys
    self.now = now
    expires = now.addingTimeInterval(1000)
  }

  /// Returns a copy with new keys for `roles`.
  func rotating(_ roles: RoleName...) throws -> SampleMetadata {
    var keys = keys
    for role in roles { keys[role] = try SigningKey.generate() }
    return SampleMetadata(keys: keys, now: now)
  }

  func signer(_ roles: RoleName...) -> RoleSigner {
    RoleSigner(keys: roles.compactMap { keys[$0] })
  }

  // MARK: Roles

  func rootRole(_ version: Int64 = 1, expires: Date? = nil) throws -> RootRole {
    try RootRole(
      version: version, expires: expires ?? self.expires, keys: keys.mapValues { [$0.publicKey] })
  }

  func root(_ version: Int64 = 1, expires: Date? = nil, alsoSignedBy others: SampleMetadata...)
    throws -> [UInt8]
  {
    let signers = [self] + others
    return try RoleSigner(keys: signers.compactMap { $0.keys[.root] })
      .sign(rootRole(version, expires: expires))
  }

  func targets(_ version: Int64 = 1, expires: Date? = nil, files: [String: TargetFile] = [:]) throws
    -> [UInt8]
  {
    try signer(.targets).sign(
      TargetsRole(version: version, expires: expires ?? self.expires, targets: files))
  }

  func snapshot(
    _ version: Int64 = 1, expires: Date? = nil, targets: [UInt8], _ targetsVersion: Int64
  )
    throws -> [UInt8]
  {
    try signer(.snapshot).sign(
      SnapshotRole(
        version: version, expires: expires ?? self.expires,
        targets: MetadataFile(version: targetsVersion, bytes: targets)))
  }

  func timestamp(
    _ version: Int64 = 1, expires: Date? = nil, snapshot: [UInt8], _ snapshotVersion: Int64
  ) throws -> [UInt8] {
    try signer(.timestamp).sign(
      TimestampRole(
        version: version, expires: expires ?? self.expires,
        snapshot: MetadataFile(version: snapshotVersion, bytes: snapshot)))
  }

  /// Returns a publication in which every role has `version`.
  func publication(_ version: Int64 = 1, files: [String: TargetFile] = [:]) throws -> Publication {
    let targets = try targets(version, files: files)
    let snapshot = try snapshot(version, targets: targets, version)
    return Publication(
      version: version, timestamp: try timestamp(version, snapshot: snapshot, version),
      snapshot: snapshot, targets: targets)
  }

  /// Returns the state of a client after `publication`.
  func trusting(_ publication: Publication) throws -> TrustedMetadata {
    var trusted = try TrustedMetadata(root: root())
    _ = try trusted.update(timestamp: publication.timestamp, now: now)
    try trusted.update(snapshot: publication.snapshot, now: now)
    try trusted.update(targets: publication.targets, now: now)
    return trusted
  }
}

/// The files of one publication.
struct Publication {
  let version: Int64
  var timestamp: [UInt8]
  var snapshot: [UInt8]
  var targets: [UInt8]

  /// The files by path in the store.
  var files: [String: [UInt8]] {
    [
      "metadata/timestamp.json": timestamp, "metadata/\(version).snapshot.json": snapshot,
      "metadata/\(version).targets.json": targets,
    ]
  }
}

extension JSONValue {
  /// Returns the document with the member at `path` replaced, or removed for nil.
  func replacing(_ path: String..., with value: JSONValue?) -> JSONValue {
    replacing(path[...], with: value)
  }

  private func replacing(_ path: ArraySlice<String>, with value: JSONValue?) -> JSONValue {
    guard case .object(var members) = self, let key = path.first else { return self }
    if path.count == 1 {
      members[key] = value
    } else {
      members[key] = members[key]?.replacing(path.dropFirst(), with: value)
    }
    return .object(members)
  }
}
