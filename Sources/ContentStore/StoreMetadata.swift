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
  /// Whether the last rotation was interrupted before everything was signed with the new keys.
  let isHalfRotated: Bool

  private static let day: TimeInterval = 86_400
  private static let rootLifetime = 3650 * day
  private static let lifetime = 365 * day
  private static let timestampLifetime = 90 * day

  /// Reads and verifies the metadata in `folder`; expired metadata is read too.
  init(reading folder: Directory) throws {
    let newest = try Self.newestRootVersion(in: folder)
    let root = try TrustedMetadata(root: Self.contents(.root, newest, folder))
    do {
      try self.init(reading: folder, trusting: root, root: root.root)
    } catch let error as ContentError where error.code == .signatureInvalid && newest > 1 {
      guard let found = try Self.halfRotated(folder, newest) else { throw error }
      self = found
    }
  }

  /// The metadata as an earlier root has it; nil when none has.
  ///
  /// A rotation writes its root before what the new keys have signed, and several may have been
  /// interrupted there.
  private static func halfRotated(_ folder: Directory, _ newest: Int64) throws -> StoreMetadata? {
    for version in stride(from: newest - 1, through: max(1, newest - 16), by: -1) {
      let earlier = try TrustedMetadata(root: contents(.root, version, folder))
      var next = earlier
      for later in version + 1...newest { try next.update(root: contents(.root, later, folder)) }
      if let found = try? StoreMetadata(reading: folder, trusting: earlier, root: next.root) {
        return found
      }
    }
    return nil
  }

  private init(reading folder: Directory, trusting start: TrustedMetadata, root: RootRole) throws {
    var trusted = start
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
    self.root = root
    self.timestamp = timestamp
    self.snapshot = snapshot
    self.targets = targets
    isHalfRotated = start.root.version != root.version
  }

  private static func contents(_ role: RoleName, _ version: Int64?, _ folder: Directory) throws
    -> [UInt8]
  {
    let name = "\(version.map { "\($0)." } ?? "")\(role.fileName)"
    return try folder.contents(of: name, limit: role.limit)
  }

  private static func newestRootVersion(in folder: Directory) throws -> Int64 {
    let suffix = ".root.json"
    let versions = try folder.entries().compactMap { entry in
      entry.name.hasSuffix(suffix) ? Int64(entry.name.dropLast(suffix.count)) : nil
    }
    guard let newest = versions.max() else {
      throw ContentError(
        .storeDamaged, "\(folder.path) has no root metadata",
        remedy: "Put 1.root.json back from a copy of the store", subject: folder.path)
    }
    return newest
  }

  // MARK: Creating

  /// Writes a first root, and empty metadata of version 1.
  static func create(in folder: Directory, _ keys: StoreKeys, _ plan: StoreKeyPlan, now: Date)
    throws
  {
    var made: [RoleName: [PublicKey]] = [:]
    var signers: [RoleName: RoleSigner] = [:]
    var thresholds: [RoleName: Int64] = [:]
    for role in StoreRole.allCases {
      let (count, threshold) = try plan.numbers(of: role)
      let signing = try keys.make(role.name, count, plan.type.kind, forRoot: 1)
      made[role.name] = signing.map(\.publicKey)
      signers[role.name] = RoleSigner(keys: signing)
      thresholds[role.name] = Int64(threshold)
    }
    let root = try RootRole(
      version: 1, expires: now.wholeSeconds(adding: rootLifetime), keys: made,
      thresholds: thresholds)
    if let signer = signers[.root] {
      try folder.replaceFile("1.root.json", with: signer.sign(root))
    }
    let writer = MetadataWriter(folder: folder, keys: keys, root: root, now: now)
    let targets = TargetsRole(version: 1, expires: writer.expires(in: lifetime), targets: [:])
    try writer.publish(targets, snapshotVersion: 1, timestampVersion: 1)
  }

  // MARK: Publishing

  /// Publishes `files` as the store's targets, with new expiry; durable and visible when it returns.
  ///
  /// Timestamp comes last: until it is replaced, everybody sees the catalogue as it was.
  func publish(_ files: [String: TargetFile], in folder: Directory, _ keys: StoreKeys, now: Date)
    throws
  {
    let writer = MetadataWriter(folder: folder, keys: keys, root: root, now: now)
    let next = TargetsRole(
      targets, version: targets.version + 1, expires: writer.expires(in: Self.lifetime),
      targets: files)
    try writer.publish(
      next, over: snapshot, snapshotVersion: snapshot.version + 1,
      timestampVersion: timestamp.version + 1)
  }

  /// Renews what has less than half of its life left, or `everything`, but never the root.
  ///
  /// Returns the roles that were signed anew.
  func renew(in folder: Directory, _ keys: StoreKeys, now: Date, everything: Bool) throws
    -> [StoreRole]
  {
    let writer = MetadataWriter(folder: folder, keys: keys, root: root, now: now)
    func isDue(_ expires: Date, _ lifetime: TimeInterval) -> Bool {
      everything || isHalfRotated || expires < now.addingTimeInterval(lifetime / 2)
    }
    if isDue(targets.expires, Self.lifetime) {
      try publish(targets.targets, in: folder, keys, now: now)
      return [.targets, .snapshot, .timestamp]
    }
    if isDue(snapshot.expires, Self.lifetime) {
      try writer.publish(
        promised: snapshot.targets, over: snapshot, snapshotVersion: snapshot.version + 1,
        timestampVersion: timestamp.version + 1)
      return [.snapshot, .timestamp]
    }
    guard isDue(timestamp.expires, Self.timestampLifetime) else { return [] }
    try writer.publish(timestamp.snapshot, timestampVersion: timestamp.version + 1)
    return [.timestamp]
  }

  // MARK: Root

  /// Whether less than a year of the root is left.
  func isRootDue(now: Date) -> Bool { root.expires < now.addingTimeInterval(Self.lifetime) }

  /// Writes the next root, with the same keys and a new life.
  func renewRoot(in folder: Directory, _ keys: StoreKeys, now: Date) throws -> StoreMetadata {
    try writeRoot(in: folder, keys, now, new: [:], thresholds: [:], newRootKeys: [])
  }

  /// Writes the next root, in which `roles` have new keys; the old ones' files are still there.
  func rotate(
    _ roles: [StoreRole], _ plan: StoreKeyPlan, in folder: Directory, _ keys: StoreKeys, now: Date
  ) throws -> StoreMetadata {
    // Asked first, so that no key is made in vain.
    _ = try keys.signer(.root, of: root)
    var new: [RoleName: [PublicKey]] = [:]
    var thresholds: [RoleName: Int64] = [:]
    var newRootKeys: [SigningKey] = []
    for role in roles {
      let (count, threshold) = try plan.numbers(of: role, known: root.roles[role.name])
      let made = try keys.make(role.name, count, plan.type.kind, forRoot: root.version + 1)
      new[role.name] = made.map(\.publicKey)
      thresholds[role.name] = Int64(threshold)
      if role == .root { newRootKeys = made }
    }
    return try writeRoot(
      in: folder, keys, now, new: new, thresholds: thresholds, newRootKeys: newRootKeys)
  }

  private func writeRoot(
    in folder: Directory, _ keys: StoreKeys, _ now: Date, new: [RoleName: [PublicKey]],
    thresholds: [RoleName: Int64], newRootKeys: [SigningKey]
  ) throws -> StoreMetadata {
    let next = try RootRole(
      root, version: root.version + 1, expires: now.wholeSeconds(adding: Self.rootLifetime),
      keys: new, thresholds: thresholds)
    // Old and new keys both sign, or nobody who trusts the old ones would follow.
    let signer = try keys.signer(.root, of: root).adding(newRootKeys)
    try folder.replaceFile("\(next.version).root.json", with: signer.sign(next))
    return StoreMetadata(
      root: next, timestamp: timestamp, snapshot: snapshot, targets: targets,
      isHalfRotated: !new.keys.allSatisfy { $0 == .root } || isHalfRotated)
  }

  private init(
    root: RootRole, timestamp: TimestampRole, snapshot: SnapshotRole, targets: TargetsRole,
    isHalfRotated: Bool
  ) {
    self.root = root
    self.timestamp = timestamp
    self.snapshot = snapshot
    self.targets = targets
    self.isHalfRotated = isHalfRotated
  }
}
