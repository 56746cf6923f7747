package import ContentModel
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
  /// SHA-256 of what the root's keys have signed: two roots with the same one are the same root.
  private(set) var rootDigest: Digest
  /// The newest timestamp; nil until one is restored or updated.
  package private(set) var timestamp: TimestampRole?
  /// The snapshot that the timestamp promises; nil until it is updated.
  package private(set) var snapshot: SnapshotRole?
  /// The targets that the snapshot promises; nil until they are updated.
  package private(set) var targets: TargetsRole?
  /// SHA-256 of the targets metadata, by which two moments of a catalog are told apart.
  package private(set) var targetsDigest: Digest?
  /// Roles that targets were delegated to, as whoever was asked first has found them.
  private var delegated: [String: SignedMetadata<TargetsRole>] = [:]
  /// The snapshot of an earlier timestamp; a newer one must not fall behind it.
  private var earlierSnapshot: SnapshotRole?

  /// Starts from a root that is trusted for reasons of its own; it must be signed by its own keys.
  package init(root bytes: [UInt8]) throws {
    let found = try SignedMetadata<RootRole>(bytes)
    try found.checkSignatures(by: found.role.signers(of: .root))
    root = found.role
    rootDigest = try Digest(of: found.message)
  }

  /// Starts from a root that is known already, such as one in which fewer keys count.
  package init(verified root: RootRole) throws {
    self.root = root
    rootDigest = try Digest(of: root.signed.canonical)
  }

  // MARK: Root

  /// Whether one of `keys`, which the root must name for itself, has signed it.
  package static func isRoot(_ bytes: [UInt8], signedByAnyOf keys: Set<PublicKey>) throws -> Bool {
    let found = try SignedMetadata<RootRole>(bytes)
    let known = Array(found.role.publicKeys(of: .root).intersection(keys))
    let root = try RootRole(
      found.role, version: found.role.version, expires: found.role.expires, keys: [.root: known],
      thresholds: [.root: 1])
    return (try? found.checkSignatures(by: root.signers(of: .root))) != nil
  }

  /// Takes the next root, which must be signed by the keys of this one and by its own.
  ///
  /// True when the keys of timestamp or snapshot changed: then both are forgotten, since whoever
  /// had stolen the old keys may have signed a version that no honest one will ever reach.
  @discardableResult
  package mutating func update(root bytes: [UInt8]) throws -> Bool {
    let found = try SignedMetadata<RootRole>(bytes)
    try found.checkSignatures(by: root.signers(of: .root))
    try found.checkSignatures(by: found.role.signers(of: .root))
    guard found.role.version == root.version + 1 else {
      throw ContentError.wrongVersion(
        .root, found.role.version, promised: root.version + 1, by: "the chain of roots")
    }
    let digest = try Digest(of: found.message)
    let withdrawn = [RoleName.timestamp, .snapshot].contains {
      root.publicKeys(of: $0) != found.role.publicKeys(of: $0)
    }
    // What the keys of an earlier root have signed may be no longer signed by this one's.
    root = found.role
    rootDigest = digest
    withdraw(alsoTimestamp: true, keepingEarlier: !withdrawn)
    return withdrawn
  }

  /// Throws `metadataExpired` when the root has; asked once no newer root is there.
  package func checkRootExpiry(now: Date) throws { try Self.checkExpiry(root, now: now) }

  /// Throws `metadataExpired` when the snapshot or the targets, trusted earlier, have meanwhile.
  package func checkExpiry(now: Date) throws {
    if let snapshot { try Self.checkExpiry(snapshot, now: now) }
    if let targets { try Self.checkExpiry(targets, now: now) }
  }

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
    withdraw(alsoTimestamp: false, keepingEarlier: true)
    timestamp = found
    return true
  }

  private mutating func withdraw(alsoTimestamp: Bool, keepingEarlier: Bool) {
    earlierSnapshot = keepingEarlier ? snapshot ?? earlierSnapshot : nil
    if alsoTimestamp { timestamp = nil }
    (snapshot, targets, targetsDigest, delegated) = (nil, nil, nil, [:])
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
    (targets, targetsDigest, delegated) = (nil, nil, [:])
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
    targetsDigest = try promise.hashes?.sha256 ?? Digest(of: bytes)
    delegated = [:]
  }

  /// The targets of an earlier run, for reading what existed then; only signatures are checked.
  package func earlierTargets(_ bytes: [UInt8]) throws -> TargetsRole { try verified(bytes) }

  // MARK: Delegated targets

  /// What the snapshot promises of the role `name` that targets were delegated to.
  func promise(of name: String) throws -> MetadataFile {
    guard let snapshot else { throw Self.outOfOrder(.delegated(name)) }
    guard let promise = snapshot.files[MetadataName.delegated(name).fileName] else {
      throw ContentError.metadataDamaged(
        .snapshot, "it promises nothing of \(name), which targets were delegated to")
    }
    return promise
  }

  /// The role `name` as it was taken before, if `delegator` trusts who has signed it.
  ///
  /// Nil when it was not taken yet. Asked again for each delegator, since another one may have
  /// named other keys.
  func trustedRole(_ name: String, for delegator: Delegator, now: Date) throws -> TargetsRole? {
    guard let known = delegated[name] else { return nil }
    try known.checkSignatures(by: delegator.signers(of: name))
    try Self.checkExpiry(known.role, .delegated(name), now: now)
    return known.role
  }

  /// Takes the metadata of the role `name` that `delegator` delegates to.
  mutating func update(
    delegated name: String, _ bytes: [UInt8], for delegator: Delegator, now: Date
  ) throws -> TargetsRole {
    let promise = try promise(of: name)
    try Self.check(bytes, promise, .delegated(name))
    let found = try SignedMetadata<TargetsRole>(bytes, as: .delegated(name))
    try found.checkSignatures(by: delegator.signers(of: name))
    guard found.role.version == promise.version else {
      throw ContentError.wrongVersion(
        .delegated(name), found.role.version, promised: promise.version,
        by: "the snapshot metadata")
    }
    try Self.checkExpiry(found.role, .delegated(name), now: now)
    delegated[name] = found
    return found.role
  }

  // MARK: Rules

  /// The role in `bytes`, which the trusted root's keys must have signed; nothing else is checked.
  package func verified<Signed: Role>(_ bytes: [UInt8]) throws -> Signed {
    let found = try SignedMetadata<Signed>(bytes)
    try found.checkSignatures(by: root.signers(of: Signed.type))
    return found.role
  }

  private static func checkExpiry<Signed: Role>(
    _ role: Signed, _ name: MetadataName = .top(Signed.type), now: Date
  ) throws {
    guard now < role.expires else {
      throw ContentError.metadataExpired(name, role.expires, now: now)
    }
  }

  private static func check(_ bytes: [UInt8], _ promise: MetadataFile, _ name: MetadataName)
    throws
  {
    try ContentTrust.check(
      bytes, length: promise.length, hashes: promise.hashes, of: name.fileName)
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

  private static func outOfOrder(_ role: MetadataName) -> ContentError {
    ContentError(
      .inconsistent, "The \(role.text) metadata came before the one that promises it",
      remedy: "Report it", subject: role.fileName)
  }
}

/// A role that delegates targets, and its name for messages.
struct Delegator: Sendable {
  let name: MetadataName
  let role: TargetsRole

  func signers(of delegated: String) -> Signers? {
    role.delegations?.signers(
      of: delegated, demander: "\(name.text) version \(role.version)")
  }
}
