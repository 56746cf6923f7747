import ContentModel
import Digests
package import FoundationEssentials

/// What is trusted of a store, and the rules by which newer metadata takes its place.
///
/// Pure: bytes and the time are handed in, and a refused update changes nothing. The order is root
/// to its newest version, timestamp, snapshot, targets; what was trusted in an earlier run is
/// handed to `restore` between root and timestamp, so that nothing older is taken.
/// Source: The Update Framework specification 1.0.34, section 5.
package struct TrustedMetadata: Sendable {
  /// The root that decides whose signatures count.
  package private(set) var root: RootRole
  /// The newest timestamp; nil until one is restored or updated.
  package private(set) var timestamp: TimestampRole?
  /// The snapshot that the timestamp promises; nil until it is updated.
  package private(set) var snapshot: SnapshotRole?
  /// The targets that the snapshot promises; nil until they are updated.
  package private(set) var targets: TargetsRole?
  /// The snapshot of an earlier timestamp; a newer one must not fall behind it.
  private var earlierSnapshot: SnapshotRole?

  /// Starts from a root that is trusted for reasons of its own; it must be signed by its own keys.
  package init(root bytes: [UInt8]) throws {
    let found = try SignedMetadata<RootRole>(bytes)
    try found.checkSignatures(by: found.role)
    root = found.role
  }

  // MARK: Root

  /// Takes the next root, which must be signed by the keys of this one and by its own.
  ///
  /// True when the keys of timestamp or snapshot changed: then both are forgotten, since whoever
  /// had stolen the old keys may have signed a version that no honest one will ever reach.
  @discardableResult
  package mutating func update(root bytes: [UInt8]) throws -> Bool {
    let found = try SignedMetadata<RootRole>(bytes)
    try found.checkSignatures(by: root)
    try found.checkSignatures(by: found.role)
    guard found.role.version == root.version + 1 else {
      throw ContentError.wrongVersion(
        .root, found.role.version, promised: root.version + 1, by: "the chain of roots")
    }
    let withdrawn = [RoleName.timestamp, .snapshot].contains {
      root.publicKeys(of: $0) != found.role.publicKeys(of: $0)
    }
    root = found.role
    if withdrawn { (timestamp, snapshot, targets, earlierSnapshot) = (nil, nil, nil, nil) }
    return withdrawn
  }

  /// Throws `metadataExpired` when the root has; asked once no newer root is there.
  package func checkRootExpiry(now: Date) throws { try Self.checkExpiry(root, now: now) }

  // MARK: What was trusted before

  /// Takes the timestamp of an earlier run; only its signatures are checked.
  package mutating func restore(timestamp bytes: [UInt8]) throws {
    timestamp = try verified(bytes)
  }

  /// Takes the snapshot of an earlier run, to compare a newer one with; only its signatures are
  /// checked.
  package mutating func restore(snapshot bytes: [UInt8]) throws {
    earlierSnapshot = try verified(bytes)
  }

  // MARK: Updates

  /// Takes a timestamp; false when it has the version that is trusted already, which is kept.
  package mutating func update(timestamp bytes: [UInt8], now: Date) throws -> Bool {
    let found: TimestampRole = try verified(bytes)
    if let timestamp {
      guard found.version >= timestamp.version else {
        throw ContentError.rolledBack(.timestamp, found.version, trusted: timestamp.version)
      }
      if found.version == timestamp.version {
        try Self.checkExpiry(timestamp, now: now)
        return false
      }
      guard found.snapshot.version >= timestamp.snapshot.version else {
        throw ContentError.rolledBack(
          .snapshot, found.snapshot.version, trusted: timestamp.snapshot.version, in: .timestamp)
      }
    }
    try Self.checkExpiry(found, now: now)
    timestamp = found
    earlierSnapshot = snapshot ?? earlierSnapshot
    (snapshot, targets) = (nil, nil)
    return true
  }

  /// Takes the snapshot that the trusted timestamp promises.
  package mutating func update(snapshot bytes: [UInt8], now: Date) throws {
    guard let promise = timestamp?.snapshot else { throw Self.outOfOrder(.snapshot) }
    try Self.check(bytes, promise, .snapshot)
    let found: SnapshotRole = try verified(bytes)
    guard found.version == promise.version else {
      throw ContentError.wrongVersion(
        .snapshot, found.version, promised: promise.version, by: "the timestamp metadata")
    }
    for (name, earlier) in earlierSnapshot?.files ?? [:] {
      try Self.check(found.files[name], isNotOlderThan: earlier, name)
    }
    try Self.checkExpiry(found, now: now)
    snapshot = found
    targets = nil
  }

  /// Takes the targets that the trusted snapshot promises.
  package mutating func update(targets bytes: [UInt8], now: Date) throws {
    guard let promise = snapshot?.targets else { throw Self.outOfOrder(.targets) }
    try Self.check(bytes, promise, .targets)
    let found: TargetsRole = try verified(bytes)
    guard found.version == promise.version else {
      throw ContentError.wrongVersion(
        .targets, found.version, promised: promise.version, by: "the snapshot metadata")
    }
    try Self.checkExpiry(found, now: now)
    targets = found
  }

  /// The targets of an earlier run, for reading what existed then; only signatures are checked.
  package func earlierTargets(_ bytes: [UInt8]) throws -> TargetsRole { try verified(bytes) }

  // MARK: Rules

  private func verified<Signed: Role>(_ bytes: [UInt8]) throws -> Signed {
    let found = try SignedMetadata<Signed>(bytes)
    try found.checkSignatures(by: root)
    return found.role
  }

  private static func checkExpiry(_ role: some Role, now: Date) throws {
    guard now < role.expires else {
      throw ContentError.metadataExpired(type(of: role).name, role.expires, now: now)
    }
  }

  private static func check(_ bytes: [UInt8], _ promise: MetadataFile, _ role: RoleName) throws {
    try ContentTrust.check(
      bytes, length: promise.length, digest: promise.digest, of: role.fileName)
  }

  private static func check(
    _ found: MetadataFile?, isNotOlderThan earlier: MetadataFile, _ name: String
  ) throws {
    guard let found, found.version >= earlier.version else {
      throw ContentError(
        .metadataRolledBack,
        "The snapshot metadata has \(found.map { "version \($0.version)" } ?? "no version") of "
          + "\(name), older than version \(earlier.version), which was trusted before",
        remedy: "Ask the store's owner whether an old copy is being served; nothing old is taken",
        subject: name)
    }
  }

  private static func outOfOrder(_ role: RoleName) -> ContentError {
    ContentError(
      .inconsistent, "The \(role.rawValue) metadata came before the one that promises it",
      remedy: "Report it", subject: role.fileName)
  }
}
