package import ContentModel
package import FoundationEssentials

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
