package import HostedModel
package import FoundationEssentials

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
