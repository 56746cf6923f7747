package import FoundationEssentials
import HostedDigests
package import HostedModel

/// The snapshot role: lists the versions of all targets metadata that belong together.
package struct SnapshotRole: Role {
  package static let type = RoleName.snapshot
  package static let ownMembers: Set = ["meta"]

  package let header: RoleHeader
  /// By file name without version; always contains the file of `targets`.
  package let files: [String: MetadataFile]
  package let targets: MetadataFile

  /// Creates a snapshot.
  ///
  /// `lists` is a digest of the files that were signed with it. It makes two snapshots different
  /// whose bins differ, although only versions of bins are listed.
  package init(
    version: Int64, expires: Date, targets: MetadataFile, others: [String: MetadataFile] = [:],
    lists: Digest? = nil
  ) {
    let unknown = lists.map { ["lists": JSONValue.object(["sha256": .string($0.hex)])] }
    header = RoleHeader(version: version, expires: expires, unknown: unknown ?? [:])
    self.targets = targets
    files = others.merging([RoleName.targets.fileName: targets]) { $1 }
  }

  package init(_ header: RoleHeader, signed: MetadataField) throws {
    self.header = header
    targets = try MetadataFile(signed["meta"][RoleName.targets.fileName])
    files = try signed["meta"].members { _, field in try MetadataFile(field) }
  }

  package var members: [String: JSONValue] { ["meta": .object(files.mapValues(\.json))] }
}

/// The timestamp role: names the newest snapshot.
///
/// It expires soon, to prevent freeze attacks.
package struct TimestampRole: Role {
  package static let type = RoleName.timestamp
  package static let ownMembers: Set = ["meta"]

  package let header: RoleHeader
  package let snapshot: MetadataFile

  package init(version: Int64, expires: Date, snapshot: MetadataFile) {
    header = RoleHeader(version: version, expires: expires)
    self.snapshot = snapshot
  }

  package init(_ header: RoleHeader, signed: MetadataField) throws {
    self.header = header
    snapshot = try MetadataFile(signed["meta"][RoleName.snapshot.fileName])
  }

  package var members: [String: JSONValue] {
    ["meta": .object([RoleName.snapshot.fileName: snapshot.json])]
  }
}

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
