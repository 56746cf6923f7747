package import ContentModel
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
