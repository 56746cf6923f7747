package import ContentModel
import Digests
package import FoundationEssentials

/// The signed part of a role's metadata.
///
/// Source: The Update Framework specification 1.0.34, section 4.
package protocol Role: Sendable {
  static var type: RoleName { get }
  /// The members that only this role has.
  static var ownMembers: Set<String> { get }
  /// The version, 1 or more. Each publication increments it.
  var version: Int64 { get }
  /// When the metadata expires.
  var expires: Date { get }
  /// The members in `ownMembers`.
  var members: [String: JSONValue] { get }
  /// The members that this version does not know, which are preserved.
  var unknown: [String: JSONValue] { get }

  /// Reads the role's members. Throws `metadataDamaged` with the first invalid one.
  init(version: Int64, expires: Date, signed: MetadataField) throws
}

extension Role {
  /// The version of the specification that is written; every 1.x is read.
  static var specificationVersion: String { "1.0.34" }

  /// Reads a `signed` object and checks its type.
  init(signed: MetadataField) throws {
    let type = try signed["_type"].string
    guard type == Self.type.rawValue else {
      throw ContentError.metadataDamaged(signed.role, "its type is “\(type.prefix(40))”")
    }
    let specification = try signed["spec_version"].string
    guard specification == "1" || specification.hasPrefix("1.") else {
      throw ContentError.metadataDamaged(
        signed.role, "specification version “\(specification.prefix(40))” is not 1.x")
    }
    let version = try signed["version"].integer(atLeast: 1)
    guard version < .max else {
      throw ContentError.metadataDamaged(signed.role, "its version is the maximum")
    }
    try self.init(version: version, expires: signed["expires"].date, signed: signed)
  }

  /// The whole `signed` object.
  package var signed: JSONValue {
    let common: [String: JSONValue] = [
      "_type": .string(Self.type.rawValue),
      "spec_version": .string(Self.specificationVersion),
      "version": .integer(version),
      "expires": .string(expires.metadataText),
    ]
    return .object(unknown.merging(members) { $1 }.merging(common) { $1 })
  }

  /// The members of `signed` that this version does not know.
  static func unknownMembers(of signed: MetadataField) -> [String: JSONValue] {
    guard case .object(let members) = signed.value else { return [:] }
    let known = ownMembers.union(["_type", "spec_version", "version", "expires"])
    return members.filter { !known.contains($0.key) }
  }
}

// MARK: Keys

/// The keys of a role, and how many different keys must sign.
package struct RoleKeys: Hashable, Sendable {
  /// Key identifiers.
  package let identifiers: Set<String>
  /// The number of keys that must sign, 1 or more.
  package let threshold: Int64

  package init(identifiers: Set<String>, threshold: Int64) {
    self.identifiers = identifiers
    self.threshold = threshold
  }

  /// Any `threshold` of `keys` must sign.
  init(_ keys: [PublicKey], threshold: Int64) throws {
    self.init(identifiers: Set(try keys.map { try $0.identifier }), threshold: threshold)
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

  init(_ keys: some Sequence<PublicKey>) throws {
    self.keys = try keys.reduce(into: [:]) { $0[try $1.identifier] = $1 }
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

  func keeping(_ identifiers: Set<String>) -> KeyList {
    KeyList(
      keys: keys.filter { identifiers.contains($0.key) },
      objects: objects.filter { identifiers.contains($0.key) })
  }

  private init(keys: [String: PublicKey], objects: [String: JSONValue]) {
    self.keys = keys
    self.objects = objects
  }

  func merging(_ other: KeyList) -> KeyList {
    KeyList(
      keys: keys.merging(other.keys) { $1 }, objects: objects.merging(other.objects) { $1 })
  }

  var json: JSONValue { .object(objects) }
}

// MARK: Timestamp and snapshot

/// What a role says about the metadata of another role.
package struct MetadataFile: Hashable, Sendable {
  package let version: Int64
  /// The length in bytes; nil if it is not listed.
  package let length: Int64?
  /// The digests; nil if they are not listed.
  package let hashes: FileHashes?

  /// Describes a file by its version only.
  package init(version: Int64) { (self.version, length, hashes) = (version, nil, nil) }

  /// Describes exactly `bytes`.
  package init(version: Int64, bytes: [UInt8]) throws {
    self.version = version
    length = Int64(bytes.count)
    hashes = FileHashes(sha256: try Digest(of: bytes))
  }

  init(_ field: MetadataField) throws {
    version = try field["version"].integer(atLeast: 1)
    length = try field.optional("length")?.integer(atLeast: 1)
    hashes = try field.optional("hashes")?.hashes
  }

  var json: JSONValue {
    var members: [String: JSONValue] = ["version": .integer(version)]
    members["length"] = length.map(JSONValue.integer)
    members["hashes"] = hashes.map(\.json)
    return .object(members)
  }
}

/// The timestamp role: names the newest snapshot.
///
/// It expires soon, to prevent freeze attacks.
package struct TimestampRole: Role {
  package static let type = RoleName.timestamp
  package static let ownMembers: Set = ["meta"]

  package let version: Int64
  package let expires: Date
  package let snapshot: MetadataFile
  package private(set) var unknown: [String: JSONValue] = [:]

  package init(version: Int64, expires: Date, snapshot: MetadataFile) {
    self.version = version
    self.expires = expires
    self.snapshot = snapshot
  }

  package init(version: Int64, expires: Date, signed: MetadataField) throws {
    self.version = version
    self.expires = expires
    snapshot = try MetadataFile(signed["meta"][RoleName.snapshot.fileName])
    unknown = Self.unknownMembers(of: signed)
  }

  package var members: [String: JSONValue] {
    ["meta": .object([RoleName.snapshot.fileName: snapshot.json])]
  }
}

/// The snapshot role: lists the versions of all targets metadata that belong together.
package struct SnapshotRole: Role {
  package static let type = RoleName.snapshot
  package static let ownMembers: Set = ["meta"]

  package let version: Int64
  package let expires: Date
  /// By file name without version; always contains the file of `targets`.
  package let files: [String: MetadataFile]
  package let targets: MetadataFile
  package private(set) var unknown: [String: JSONValue] = [:]

  /// Creates a snapshot.
  ///
  /// `lists` is a digest of the files that were signed with it. It makes two snapshots different
  /// whose bins differ, although only versions of bins are listed.
  package init(
    version: Int64, expires: Date, targets: MetadataFile, others: [String: MetadataFile] = [:],
    lists: Digest? = nil
  ) {
    self.version = version
    self.expires = expires
    self.targets = targets
    files = others.merging([RoleName.targets.fileName: targets]) { $1 }
    unknown["lists"] = lists.map { .object(["sha256": .string($0.hex)]) }
  }

  package init(version: Int64, expires: Date, signed: MetadataField) throws {
    self.version = version
    self.expires = expires
    targets = try MetadataFile(signed["meta"][RoleName.targets.fileName])
    files = try signed["meta"].members { _, field in try MetadataFile(field) }
    unknown = Self.unknownMembers(of: signed)
  }

  package var members: [String: JSONValue] { ["meta": .object(files.mapValues(\.json))] }
}
