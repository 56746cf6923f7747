package import ContentModel
import Digests
package import FoundationEssentials

/// The top-level roles of The Update Framework, by what the newcomer fetches first.
package enum RoleName: String, CaseIterable, Sendable {
  case root, timestamp, snapshot, targets

  /// The name of the role's file in other roles and, without a version, in a store.
  package var fileName: String { "\(rawValue).json" }
}

/// What a role signs: the part of its metadata that others may rely on.
///
/// Source: The Update Framework specification 1.0.34, section 4.
package protocol Role: Sendable {
  static var name: RoleName { get }
  /// 1 or more; each publication has the next one.
  var version: Int64 { get }
  /// When the metadata must not be believed any more.
  var expires: Date { get }
  /// The members beside `_type`, `spec_version`, `version` and `expires`.
  var members: [String: JSONValue] { get }

  /// Reads the role's members; `metadataDamaged` names the first one that is not as it must be.
  init(version: Int64, expires: Date, signed: MetadataField) throws
}

extension Role {
  /// The version of the specification that is written; every 1.x is read.
  static var specificationVersion: String { "1.0.34" }

  /// Reads a `signed` object and checks that it is of this role.
  init(signed: MetadataField) throws {
    let type = try signed["_type"].string
    guard type == Self.name.rawValue else {
      throw ContentError.metadataDamaged(Self.name, "its type is “\(type.prefix(40))”")
    }
    let specification = try signed["spec_version"].string
    guard specification == "1" || specification.hasPrefix("1.") else {
      throw ContentError.metadataDamaged(
        Self.name, "specification version “\(specification.prefix(40))” is not 1.x")
    }
    try self.init(
      version: signed["version"].integer(atLeast: 1), expires: signed["expires"].date,
      signed: signed)
  }

  /// The whole `signed` object.
  package var signed: JSONValue {
    .object(
      members.merging([
        "_type": .string(Self.name.rawValue),
        "spec_version": .string(Self.specificationVersion),
        "version": .integer(version),
        "expires": .string(expires.metadataText),
      ]) { $1 })
  }
}

// MARK: Root

/// Root: which keys each role has, and how many of them must sign.
package struct RootRole: Role {
  package static let name = RoleName.root

  package let version: Int64
  package let expires: Date
  /// Public keys by identifier; keys of kinds that we cannot check are left out.
  package let keys: [String: PublicKey]
  /// The keys of each top-level role.
  package let roles: [RoleName: RoleKeys]
  /// Whether a store's file names carry version or digest.
  package let usesConsistentSnapshots: Bool

  /// Creates a root of a store with consistent snapshots, with one key a role.
  package init(version: Int64, expires: Date, keys: [RoleName: PublicKey]) throws {
    self.version = version
    self.expires = expires
    self.keys = try keys.values.reduce(into: [:]) { $0[try $1.identifier] = $1 }
    roles = try keys.mapValues { RoleKeys(identifiers: [try $0.identifier], threshold: 1) }
    usesConsistentSnapshots = true
  }

  /// The same keys and roles at another version and expiry.
  package init(_ root: RootRole, version: Int64, expires: Date) {
    self.version = version
    self.expires = expires
    keys = root.keys
    roles = root.roles
    usesConsistentSnapshots = root.usesConsistentSnapshots
  }

  package init(version: Int64, expires: Date, signed: MetadataField) throws {
    self.version = version
    self.expires = expires
    usesConsistentSnapshots = try signed["consistent_snapshot"].bool
    keys = try signed["keys"].members.compactMapValues { PublicKey(json: $0.value) }
    let fields = try signed["roles"]
    roles = try RoleName.allCases.reduce(into: [:]) {
      $0[$1] = try RoleKeys(fields[$1.rawValue])
    }
  }

  package var members: [String: JSONValue] {
    [
      "consistent_snapshot": .bool(usesConsistentSnapshots),
      "keys": .object(keys.mapValues(\.json)),
      "roles": .object(
        roles.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value.json }),
    ]
  }

  /// The distinct keys of `role`; empty when the root names none that we can check.
  package func publicKeys(of role: RoleName) -> Set<PublicKey> {
    Set((roles[role]?.identifiers ?? []).compactMap { keys[$0] })
  }
}

/// Which keys sign for a role, and how many different ones must.
package struct RoleKeys: Hashable, Sendable {
  /// Key identifiers.
  package let identifiers: Set<String>
  /// 1 or more.
  package let threshold: Int64

  init(identifiers: Set<String>, threshold: Int64) {
    self.identifiers = identifiers
    self.threshold = threshold
  }

  init(_ field: MetadataField) throws {
    let names = try field["keyids"].elements.map { try $0.string }
    identifiers = Set(names)
    guard identifiers.count == names.count else {
      throw ContentError.metadataDamaged(field.role, "\(field.path).keyids names a key twice")
    }
    threshold = try field["threshold"].integer(atLeast: 1)
  }

  var json: JSONValue {
    .object([
      "keyids": .array(identifiers.sorted().map(JSONValue.string)),
      "threshold": .integer(threshold),
    ])
  }
}

// MARK: Timestamp and snapshot

/// What one role promises of another one's metadata.
package struct MetadataFile: Hashable, Sendable {
  package let version: Int64
  /// Bytes; nil when nothing was promised.
  package let length: Int64?
  /// SHA-256; nil when nothing was promised.
  package let digest: Digest?

  /// Promises exactly `bytes`.
  package init(version: Int64, bytes: [UInt8]) throws {
    self.version = version
    length = Int64(bytes.count)
    digest = try Digest(of: bytes)
  }

  init(_ field: MetadataField) throws {
    version = try field["version"].integer(atLeast: 1)
    length = try field.optional("length")?.integer(atLeast: 1)
    digest = try field.optional("hashes")?.sha256
  }

  var json: JSONValue {
    var members: [String: JSONValue] = ["version": .integer(version)]
    members["length"] = length.map(JSONValue.integer)
    members["hashes"] = digest.map { .object(["sha256": .string($0.hex)]) }
    return .object(members)
  }
}

/// Timestamp: which snapshot is the newest; short-lived, so that a store cannot be frozen.
package struct TimestampRole: Role {
  package static let name = RoleName.timestamp

  package let version: Int64
  package let expires: Date
  package let snapshot: MetadataFile

  package init(version: Int64, expires: Date, snapshot: MetadataFile) {
    self.version = version
    self.expires = expires
    self.snapshot = snapshot
  }

  package init(version: Int64, expires: Date, signed: MetadataField) throws {
    self.version = version
    self.expires = expires
    snapshot = try MetadataFile(signed["meta"][RoleName.snapshot.fileName])
  }

  package var members: [String: JSONValue] {
    ["meta": .object([RoleName.snapshot.fileName: snapshot.json])]
  }
}

/// Snapshot: which versions of all targets metadata belong together.
package struct SnapshotRole: Role {
  package static let name = RoleName.snapshot

  package let version: Int64
  package let expires: Date
  /// By file name without version; the one of `targets` is always there.
  package let files: [String: MetadataFile]
  package let targets: MetadataFile

  package init(version: Int64, expires: Date, targets: MetadataFile) {
    self.version = version
    self.expires = expires
    self.targets = targets
    files = [RoleName.targets.fileName: targets]
  }

  package init(version: Int64, expires: Date, signed: MetadataField) throws {
    self.version = version
    self.expires = expires
    targets = try MetadataFile(signed["meta"][RoleName.targets.fileName])
    files = try signed["meta"].members.mapValues { try MetadataFile($0) }
  }

  package var members: [String: JSONValue] { ["meta": .object(files.mapValues(\.json))] }
}

// MARK: Targets

/// What targets metadata promises of one file.
package struct TargetFile: Hashable, Sendable {
  /// Bytes.
  package let length: Int64
  /// SHA-256 of all bytes.
  package let digest: Digest
  /// What the publisher added; nil when there is nothing.
  package let custom: JSONValue?

  package init(length: Int64, digest: Digest, custom: JSONValue? = nil) {
    self.length = length
    self.digest = digest
    self.custom = custom
  }

  init(_ field: MetadataField) throws {
    length = try field["length"].integer(atLeast: 0)
    digest = try field["hashes"].sha256
    custom = try field.optional("custom")?.value
  }

  var json: JSONValue {
    var members: [String: JSONValue] = [
      "length": .integer(length), "hashes": .object(["sha256": .string(digest.hex)]),
    ]
    members["custom"] = custom
    return .object(members)
  }
}

/// Targets: the files of the store, by name.
package struct TargetsRole: Role {
  package static let name = RoleName.targets

  package let version: Int64
  package let expires: Date
  package let targets: [String: TargetFile]

  package init(version: Int64, expires: Date, targets: [String: TargetFile]) {
    self.version = version
    self.expires = expires
    self.targets = targets
  }

  package init(version: Int64, expires: Date, signed: MetadataField) throws {
    self.version = version
    self.expires = expires
    targets = try signed["targets"].members.mapValues { try TargetFile($0) }
  }

  package var members: [String: JSONValue] { ["targets": .object(targets.mapValues(\.json))] }
}
