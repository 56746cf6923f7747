import HostedModel
import HostedDigests
package import FoundationEssentials

/// The trusted metadata of a store, and the rules for replacing it with newer metadata.
///
/// Pure: the caller passes bytes and time. A failed update changes nothing. The order of updates
/// is: root up to its newest version, timestamp, snapshot, targets. To detect rollbacks, pass the
/// metadata of earlier runs to `restore` after the root and before the timestamp.
///
/// Source: The Update Framework specification 1.0.34, section 5.
package struct TrustedMetadata: Sendable {
  /// The root, which says whose signatures are accepted.
  package private(set) var root: RootRole
  /// SHA-256 of the signed part of the root; two roots with the same digest are the same root.
  private(set) var rootDigest: Digest
  /// The newest timestamp; nil until one is restored or updated.
  package private(set) var timestamp: TimestampRole?
  /// The snapshot that the timestamp lists; nil until it is updated.
  package private(set) var snapshot: SnapshotRole?
  /// The targets that the snapshot lists; nil until they are updated.
  package private(set) var targets: TargetsRole?
  /// Delegated roles, as accepted for the last role that delegated to them.
  private var delegated: [String: (role: SignedMetadata<TargetsRole>, delegator: Delegator)] = [:]
  /// The snapshot of an earlier timestamp; a newer snapshot must not be older than it.
  private var earlierSnapshot: SnapshotRole?

  /// Starts from a root that the caller trusts; it must be signed by its own keys.
  package init(root bytes: [UInt8]) throws {
    let found = try SignedMetadata<RootRole>(bytes)
    try found.checkSignatures(by: found.role.signers(of: .root))
    root = found.role
    rootDigest = try Digest(of: found.message)
  }

  /// Reads a given root; throws `rootInvalid` unless it is root metadata signed by its own keys.
  package init(given root: [UInt8]) throws {
    do {
      try self.init(root: root)
    } catch let error as ContentError where error.group == .trust {
      throw ContentError(
        .rootInvalid, "The given file is not the root metadata of a store",
        remedy: "Provide the file 1.root.json from the store's owner", cause: error.message)
    }
  }

  /// Starts from a root that is already verified, such as one in which fewer keys count.
  package init(verified root: RootRole) throws {
    self.root = root
    rootDigest = try Digest(of: root.signed.canonical)
  }

  // MARK: Root

  /// Whether a key in `keys`, which the root must list for its own role, has signed the root.
  package static func isRoot(_ bytes: [UInt8], signedByAnyOf keys: Set<PublicKey>) throws -> Bool {
    let found = try SignedMetadata<RootRole>(bytes)
    let known = Array(found.role.publicKeys(of: .root).intersection(keys))
    let root = try RootRole(
      found.role, version: found.role.version, expires: found.role.expires, keys: [.root: known],
      thresholds: [.root: 1])
    return (try? found.checkSignatures(by: root.signers(of: .root))) != nil
  }

  /// Accepts the next root.
  ///
  /// It must be signed by the keys of the current root and by its own keys. Returns true if the
  /// keys of timestamp or snapshot changed. Then both are removed: an attacker with the old keys
  /// may have signed a version number that honest metadata never reaches.
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
    // Metadata that the keys of the earlier root have signed may be invalid under the new root.
    root = found.role
    rootDigest = digest
    withdraw(alsoTimestamp: true, keepingEarlier: !withdrawn)
    return withdrawn
  }

  /// Throws `metadataExpired` if the root has expired; call it after the newest root is accepted.
  package func checkRootExpiry(now: Date) throws { try Self.checkExpiry(root, now: now) }

  /// Throws `metadataExpired` if the trusted snapshot or the trusted targets have expired.
  package func checkExpiry(now: Date) throws {
    if let snapshot { try Self.checkExpiry(snapshot, now: now) }
    if let targets { try Self.checkExpiry(targets, now: now) }
  }

  // MARK: Earlier metadata

  /// Accepts the timestamp of an earlier run; only its signatures are checked.
  package mutating func restore(timestamp bytes: [UInt8]) throws { timestamp = try verified(bytes) }

  /// Accepts the snapshot of an earlier run, for comparison; only its signatures are checked.
  package mutating func restore(snapshot bytes: [UInt8]) throws {
    earlierSnapshot = try verified(bytes)
  }

  // MARK: Updates

  /// Accepts a timestamp; returns false, and keeps the trusted one, if the version is the same.
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
    (snapshot, targets, delegated) = (nil, nil, [:])
  }

  /// Accepts the snapshot that the trusted timestamp lists.
  package mutating func update(snapshot bytes: [UInt8], now: Date) throws {
    let signed: SignedMetadata<SnapshotRole> = try listed(
      bytes, as: .snapshot, by: root.signers(of: .snapshot))
    let found = signed.role
    for (name, earlier) in earlierSnapshot?.files ?? [:] {
      try Self.check(found.files[name], isNotOlderThan: earlier, name)
    }
    try Self.checkExpiry(found, now: now)
    snapshot = found
    (targets, delegated) = (nil, [:])
  }

  /// Accepts the targets that the trusted snapshot lists.
  @discardableResult
  package mutating func update(targets bytes: [UInt8], now: Date) throws -> TargetsRole {
    let signed: SignedMetadata<TargetsRole> = try listed(
      bytes, as: .targets, by: root.signers(of: .targets))
    let found = signed.role
    try Self.checkExpiry(found, now: now)
    targets = found
    delegated = [:]
    return found
  }

  /// Returns this metadata with a snapshot that was verified separately.
  package func with(_ snapshot: SnapshotRole) -> TrustedMetadata {
    var metadata = self
    (metadata.snapshot, metadata.delegated) = (snapshot, [:])
    return metadata
  }

  // MARK: Delegated targets

  /// Returns the role `name` if it was accepted before and `delegator` trusts its signers.
  ///
  /// Returns nil if the role was not accepted yet. The signatures are checked again for another
  /// delegator, which may list other keys.
  func trustedRole(_ name: String, for delegator: Delegator, now: Date) throws -> TargetsRole? {
    guard let (known, earlier) = delegated[name] else { return nil }
    // All roles are from one snapshot, so a name and a version identify a delegator.
    if (earlier.name, earlier.role.version) != (delegator.name, delegator.role.version) {
      try known.checkSignatures(by: delegator.signers(of: name))
    }
    try Self.checkExpiry(known.role, .delegated(name), now: now)
    return known.role
  }

  /// Returns the role `name` in `bytes`.
  ///
  /// Checks that it is the file that the snapshot lists, is signed as `delegator` requires, and has
  /// not expired.
  func role(
    _ name: String, in bytes: [UInt8], for delegator: Delegator, now: Date
  ) throws -> SignedMetadata<TargetsRole> {
    let found: SignedMetadata<TargetsRole> = try listed(
      bytes, as: .delegated(name), by: delegator.signers(of: name))
    try Self.checkExpiry(found.role, found.name, now: now)
    return found
  }

  /// Keeps a result of `role` in memory, for `trustedRole`.
  mutating func keep(_ role: SignedMetadata<TargetsRole>, for delegator: Delegator) {
    // A list of all products reads all bins, once each.
    if delegated.count >= Self.delegatedInMemory { delegated = [:] }
    delegated[role.name.text] = (role, delegator)
  }

  private static let delegatedInMemory = 32

  // MARK: Rules

  /// Returns what the trusted timestamp says about the snapshot, or the snapshot about other roles.
  func promise(of name: MetadataName) throws -> MetadataFile {
    if name == .snapshot, let timestamp { return timestamp.snapshot }
    guard name != .snapshot, let snapshot else {
      throw ContentError(
        .inconsistent, "The \(name.text) metadata was updated before the metadata that lists it",
        remedy: "Report a bug", subject: name.fileName)
    }
    guard let promise = snapshot.files[name.fileName] else {
      throw ContentError.metadataDamaged(
        .snapshot, "it does not list the delegated role \(name.text)")
    }
    return promise
  }

  /// Returns the role in `bytes`, which must be the file that other metadata lists.
  ///
  /// Its expiry is not checked.
  private func listed<Signed: Role>(
    _ bytes: [UInt8], as name: MetadataName, by signers: Signers?
  ) throws -> SignedMetadata<Signed> {
    let promise = try promise(of: name)
    try FileHashes.check(
      bytes, length: promise.length, hashes: promise.hashes, of: name.fileName)
    let found = try SignedMetadata<Signed>(bytes, as: name)
    try found.checkSignatures(by: signers)
    guard found.role.version == promise.version else {
      throw ContentError.wrongVersion(
        name, found.role.version, promised: promise.version,
        by: "the \(name == .snapshot ? "timestamp" : "snapshot") metadata")
    }
    return found
  }

  /// Returns the role in `bytes`.
  ///
  /// It must be signed by the trusted root's keys; only that is checked.
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

  private static func check(
    _ found: MetadataFile?, isNotOlderThan earlier: MetadataFile, _ name: String
  ) throws {
    guard let found, found.version >= earlier.version else {
      throw ContentError(
        .metadataRolledBack,
        "The snapshot metadata has \(found.map { "version \($0.version)" } ?? "no version") of "
          + "\(name), older than version \(earlier.version), which was trusted before",
        remedy: "Ask the store's owner whether the server has an old copy. It is not accepted",
        subject: name)
    }
  }
}

/// A role that delegates targets, and its name for messages.
struct Delegator: Sendable {
  let name: MetadataName
  let role: TargetsRole

  func signers(of delegated: String) -> Signers? {
    role.delegations?.signers(of: delegated, source: "\(name.text) version \(role.version)")
  }
}
