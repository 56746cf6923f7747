package import HostedModel
package import FoundationEssentials

/// The signed part of a role's metadata.
///
/// Source: The Update Framework specification 1.0.34, section 4.
package protocol Role: Sendable {
  static var type: RoleName { get }
  /// The members that only this role has.
  static var ownMembers: Set<String> { get }
  var header: RoleHeader { get }
  /// The members in `ownMembers`.
  var members: [String: JSONValue] { get }

  /// Reads the role's members. Throws `metadataDamaged` with the first invalid one.
  init(_ header: RoleHeader, signed: MetadataField) throws
}

/// The members that all roles have, and the unknown ones.
package struct RoleHeader: Sendable {
  /// The version, 1 or more; each publication increments it.
  let version: Int64
  /// When the metadata expires.
  let expires: Date
  /// The members that this version does not know, which are preserved.
  var unknown: [String: JSONValue] = [:]
}

extension Role {
  package var version: Int64 { header.version }
  package var expires: Date { header.expires }

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
    let expires = try signed["expires"].date
    let known = Self.ownMembers.union(["_type", "spec_version", "version", "expires"])
    let unknown = try signed.members { $1.value }.filter { !known.contains($0.key) }
    try self.init(
      RoleHeader(version: version, expires: expires, unknown: unknown), signed: signed)
  }

  /// The whole `signed` object.
  package var signed: JSONValue {
    let common: [String: JSONValue] = [
      "_type": .string(Self.type.rawValue),
      // Every 1.x is read.
      "spec_version": .string("1.0.34"),
      "version": .integer(version),
      "expires": .string(expires.metadataText),
    ]
    return .object(header.unknown.merging(members) { $1 }.merging(common) { $1 })
  }
}
