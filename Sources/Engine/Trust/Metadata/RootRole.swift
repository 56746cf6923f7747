package import FoundationEssentials
package import HostedModel

/// The root role: lists the keys of each role and how many of them must sign.
package struct RootRole: Role {
  package static let type = RoleName.root
  package static let ownMembers: Set = ["consistent_snapshot", "keys", "roles"]

  package let header: RoleHeader
  /// The keys of each top-level role.
  package let roles: [RoleName: RoleKeys]
  /// Whether file names in the store contain a version or a digest.
  package let usesConsistentSnapshots: Bool
  private let list: KeyList
  private var otherRoles: [String: JSONValue] = [:]

  /// Public keys by identifier, without keys of unsupported kinds.
  package var keys: [String: PublicKey] { list.keys }

  /// Creates a root of a store with consistent snapshots; a threshold that is not given is 1.
  package init(
    version: Int64, expires: Date, keys: [RoleName: [PublicKey]],
    thresholds: [RoleName: Int64] = [:]
  ) throws {
    header = RoleHeader(version: version, expires: expires)
    list = try KeyList(keys.values.joined())
    roles = keys.reduce(into: [:]) {
      $0[$1.key] = RoleKeys($1.value, threshold: thresholds[$1.key] ?? 1)
    }
    usesConsistentSnapshots = true
  }

  /// Copies a root with another version and expiry, and with new keys for the roles in `keys`.
  package init(
    _ root: RootRole, version: Int64, expires: Date, keys: [RoleName: [PublicKey]] = [:],
    thresholds: [RoleName: Int64] = [:]
  ) throws {
    header = RoleHeader(version: version, expires: expires, unknown: root.header.unknown)
    var roles = root.roles
    for (role, keys) in keys {
      roles[role] = RoleKeys(
        keys, threshold: thresholds[role] ?? root.roles[role]?.threshold ?? 1)
    }
    self.roles = roles
    let named = roles.values.reduce(into: Set()) { $0.formUnion($1.identifiers) }
    list = try root.list.merging(KeyList(keys.values.joined())).keeping(named)
    usesConsistentSnapshots = root.usesConsistentSnapshots
    otherRoles = root.otherRoles
  }

  package init(_ header: RoleHeader, signed: MetadataField) throws {
    self.header = header
    usesConsistentSnapshots = try signed.optional("consistent_snapshot")?.bool ?? false
    list = try KeyList(signed["keys"])
    let fields = try signed["roles"]
    roles = try RoleName.allCases.reduce(into: [:]) {
      $0[$1] = try RoleKeys(fields[$1.rawValue])
    }
    otherRoles = try fields.members(atMost: 64) { $1.value }
      .filter { RoleName(rawValue: $0.key) == nil }
  }

  package var members: [String: JSONValue] {
    let roles = roles.reduce(into: otherRoles) { $0[$1.key.rawValue] = $1.value.json }
    return [
      "consistent_snapshot": .bool(usesConsistentSnapshots), "keys": list.json,
      "roles": .object(roles),
    ]
  }

  /// The distinct keys of `role`; empty if the root lists no supported key.
  package func publicKeys(of role: RoleName) -> Set<PublicKey> {
    Set((roles[role]?.identifiers ?? []).compactMap { keys[$0] })
  }

  /// Returns a copy in which only the keys in `keys` sign for `roles`.
  ///
  /// Thresholds do not change.
  package func limited(to keys: Set<PublicKey>, for roles: [RoleName]) throws -> RootRole {
    let kept = roles.reduce(into: [:]) { $0[$1] = Array(publicKeys(of: $1).intersection(keys)) }
    return try RootRole(self, version: version, expires: expires, keys: kept)
  }

  /// Returns hash bins that the keys of the targets role sign.
  package func targetBins(bits: Int64) throws -> Delegations {
    guard let keys = roles[.targets] else {
      throw ContentError.metadataDamaged(.root, "it names no keys for targets")
    }
    return Delegations(
      HashBins(bits: bits, keys: keys, prefix: HashBins.storePrefix),
      signedBy: list.keeping(keys.identifiers))
  }

  func signers(of role: RoleName) -> Signers? {
    roles[role].map { Signers(keys: keys, required: $0, source: "root version \(version)") }
  }
}

/// The signatures that a document needs, and the role that requires them.
struct Signers {
  let keys: [String: PublicKey]
  let required: RoleKeys
  /// The name of the role for messages, such as “root version 3”.
  let source: String
}

/// The keys of a role, and how many different keys must sign.
package struct RoleKeys: Hashable, Sendable {
  package let identifiers: Set<String>
  /// The number of keys that must sign, 1 or more.
  package let threshold: Int64

  /// Any `threshold` of `keys` must sign.
  package init(_ keys: [PublicKey], threshold: Int64) {
    identifiers = Set(keys.map(\.identifier))
    self.threshold = threshold
  }

  init(_ field: MetadataField) throws {
    let names = try field["keyids"].elements(atMost: MetadataLimits.keys)
      .map { try $0.string(atMost: MetadataLimits.identifierLength) }
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

/// The keys in a document, by identifier.
package struct KeyList: Sendable {
  /// The keys of supported kinds.
  package let keys: [String: PublicKey]
  /// All keys as they were read, with unsupported kinds and unknown members.
  private let objects: [String: JSONValue]

  var json: JSONValue { .object(objects) }

  func keeping(_ identifiers: Set<String>) -> KeyList {
    KeyList(
      keys: keys.filter { identifiers.contains($0.key) },
      objects: objects.filter { identifiers.contains($0.key) })
  }

  func merging(_ other: KeyList) -> KeyList {
    KeyList(
      keys: keys.merging(other.keys) { $1 }, objects: objects.merging(other.objects) { $1 })
  }
}

extension KeyList {
  init(_ keys: some Sequence<PublicKey>) throws {
    self.keys = keys.reduce(into: [:]) { $0[$1.identifier] = $1 }
    objects = self.keys.mapValues(\.json)
  }

  init(_ field: MetadataField) throws {
    objects = try field.members(atMost: MetadataLimits.keys) { key, field in
      guard key.utf8.count <= MetadataLimits.identifierLength, case .object = field.value else {
        throw ContentError.metadataDamaged(
          field.role,
          "\(field.path.prefix(300)) is not a key with an identifier of at most "
            + "\(MetadataLimits.identifierLength) bytes")
      }
      return field.value
    }
    keys = objects.compactMapValues(PublicKey.init(json:))
  }
}
