import ContentModel
import ContentTrust
import FileIO
import FoundationEssentials

/// A store's current metadata, and the step to the next one.
struct StoreMetadata {
  let root: RootRole
  let timestamp: TimestampRole
  let snapshot: SnapshotRole
  let targets: TargetsRole

  private static let day: TimeInterval = 86_400
  private static let rootLifetime = 3650 * day
  private static let lifetime = 365 * day
  private static let timestampLifetime = 90 * day

  /// Reads and verifies the metadata in `folder`; expired metadata is read too.
  init(reading folder: Directory) throws {
    var trusted = try TrustedMetadata(root: Self.newestRoot(in: folder))
    // An expired store must be readable, or nobody could refresh it.
    let never = Date.distantPast
    _ = try trusted.update(timestamp: Self.contents(.timestamp, nil, folder), now: never)
    if let version = trusted.timestamp?.snapshot.version {
      try trusted.update(snapshot: Self.contents(.snapshot, version, folder), now: never)
    }
    if let version = trusted.snapshot?.targets.version {
      try trusted.update(targets: Self.contents(.targets, version, folder), now: never)
    }
    guard let timestamp = trusted.timestamp, let snapshot = trusted.snapshot,
      let targets = trusted.targets
    else {
      throw ContentError(
        .inconsistent, "The store's metadata was read without a result", remedy: "Report it")
    }
    root = trusted.root
    self.timestamp = timestamp
    self.snapshot = snapshot
    self.targets = targets
  }

  private static func contents(_ role: RoleName, _ version: Int64?, _ folder: Directory) throws
    -> [UInt8]
  {
    let name = "\(version.map { "\($0)." } ?? "")\(role.fileName)"
    return try folder.contents(of: name, limit: role.limit)
  }

  private static func newestRoot(in folder: Directory) throws -> [UInt8] {
    let suffix = ".root.json"
    let versions = try folder.entries().compactMap { entry in
      entry.name.hasSuffix(suffix) ? Int64(entry.name.dropLast(suffix.count)) : nil
    }
    guard let newest = versions.max() else {
      throw ContentError(
        .storeDamaged, "\(folder.path) has no root metadata",
        remedy: "Put 1.root.json back from a copy of the store", subject: folder.path)
    }
    return try contents(.root, newest, folder)
  }

  // MARK: Writing

  /// Writes a first root, and empty metadata of version 1.
  static func create(in folder: Directory, _ keys: StoreKeys, now: Date) throws {
    let signing = try RoleName.allCases.reduce(into: [:]) { $0[$1] = try keys.keyOrNew($1) }
    let root = try RootRole(
      version: 1, expires: now.wholeSeconds(adding: rootLifetime),
      keys: signing.mapValues(\.publicKey))
    try folder.replaceFile(
      "1.root.json", with: keys.signer(.root, of: root).sign(root))
    try publish([:], version: 1, snapshotVersion: 1, timestampVersion: 1, root, folder, keys, now)
  }

  /// Publishes `files` as the store's targets, with new expiry; durable and visible when it returns.
  ///
  /// Timestamp comes last: until it is replaced, everybody sees the catalogue as it was.
  func publish(_ files: [String: TargetFile], in folder: Directory, _ keys: StoreKeys, now: Date)
    throws
  {
    try Self.publish(
      files, version: targets.version + 1, snapshotVersion: snapshot.version + 1,
      timestampVersion: timestamp.version + 1, root, folder, keys, now)
  }

  private static func publish(
    _ files: [String: TargetFile], version: Int64, snapshotVersion: Int64,
    timestampVersion: Int64, _ root: RootRole, _ folder: Directory, _ keys: StoreKeys, _ now: Date
  ) throws {
    let expires = now.wholeSeconds(adding: lifetime)
    let targets = try keys.signer(.targets, of: root).sign(
      TargetsRole(version: version, expires: expires, targets: files))
    let snapshot = try keys.signer(.snapshot, of: root).sign(
      SnapshotRole(
        version: snapshotVersion, expires: expires,
        targets: MetadataFile(version: version, bytes: targets)))
    let timestamp = try keys.signer(.timestamp, of: root).sign(
      TimestampRole(
        version: timestampVersion, expires: now.wholeSeconds(adding: timestampLifetime),
        snapshot: MetadataFile(version: snapshotVersion, bytes: snapshot)))
    guard targets.count <= RoleName.targets.limit else {
      throw ContentError(
        .limitExceeded, "The catalogue would have \(targets.count) bytes, more than clients read",
        remedy: "Retire old versions, or divide the products between two stores")
    }
    try folder.replaceFile("\(version).targets.json", with: targets)
    try folder.replaceFile("\(snapshotVersion).snapshot.json", with: snapshot)
    try folder.replaceFile("timestamp.json", with: timestamp)
  }

  /// Writes the next root, with the same keys, when less than a year of this one is left.
  func renewRoot(in folder: Directory, _ keys: StoreKeys, now: Date) throws -> StoreMetadata {
    guard root.expires < now.addingTimeInterval(Self.lifetime) else { return self }
    let next = RootRole(
      root, version: root.version + 1, expires: now.wholeSeconds(adding: Self.rootLifetime))
    try folder.replaceFile(
      "\(next.version).root.json", with: keys.signer(.root, of: root).sign(next))
    return StoreMetadata(root: next, timestamp: timestamp, snapshot: snapshot, targets: targets)
  }

  private init(
    root: RootRole, timestamp: TimestampRole, snapshot: SnapshotRole, targets: TargetsRole
  ) {
    self.root = root
    self.timestamp = timestamp
    self.snapshot = snapshot
    self.targets = targets
  }
}

extension Date {
  fileprivate func wholeSeconds(adding interval: TimeInterval) -> Date {
    Date(timeIntervalSince1970: (timeIntervalSince1970 + interval).rounded(.down))
  }
}
