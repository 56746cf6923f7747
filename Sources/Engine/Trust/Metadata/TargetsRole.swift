package import HostedModel
package import FoundationEssentials

/// What targets metadata says about one file.
package struct TargetFile: Hashable, Sendable {
  package let length: Int64
  /// Digests of all bytes.
  package let hashes: FileHashes
  /// Data that the publisher added; nil without such data.
  package let custom: JSONValue?

  /// SHA-256 of all bytes; nil if only another digest is listed.
  package var digest: Digest? { hashes.sha256 }

  package init(length: Int64, digest: Digest, custom: JSONValue? = nil) {
    self.length = length
    hashes = FileHashes(sha256: digest)
    self.custom = custom
  }

  init(_ field: MetadataField) throws {
    guard let file = TargetFile(json: field.value) else {
      // Slow path: read again, to name the invalid member.
      length = try field["length"].integer(atLeast: 0)
      hashes = try field["hashes"].hashes
      custom = try field.optional("custom")?.value
      return
    }
    self = file
  }

  private init?(json: JSONValue) {
    guard let length = json["length"]?.integer, length >= 0,
      let hashes = json["hashes"].flatMap(FileHashes.init(json:))
    else { return nil }
    self.length = length
    self.hashes = hashes
    custom = json["custom"]
  }

  /// Throws `digestMismatch` unless `bytes` have the listed length and digests.
  package func check(_ bytes: [UInt8], of name: String) throws {
    try FileHashes.check(bytes, length: length, hashes: hashes, of: name)
  }

  var json: JSONValue {
    var members: [String: JSONValue] = ["length": .integer(length), "hashes": hashes.json]
    members["custom"] = custom
    return .object(members)
  }
}

/// The targets role: lists the files of the store by name, and its delegations.
package struct TargetsRole: Role {
  package static let type = RoleName.targets
  package static let ownMembers: Set = ["targets", "delegations"]

  package let header: RoleHeader
  package let targets: [String: TargetFile]
  /// Nil if the role does not delegate.
  package let delegations: Delegations?

  /// The name and the records file of a catalog list; nil for other targets metadata.
  package var details: ListDetails? { ListDetails(json: header.unknown[ListDetails.key]) }

  /// Creates a role that has the unknown members of `earlier`.
  package init(
    replacing earlier: TargetsRole? = nil, version: Int64, expires: Date,
    targets: [String: TargetFile], delegations: Delegations? = nil, details: ListDetails? = nil
  ) {
    var header = RoleHeader(
      version: version, expires: expires, unknown: earlier?.header.unknown ?? [:])
    header.unknown[ListDetails.key] = details?.json
    self.header = header
    self.targets = targets
    self.delegations = delegations
  }

  package init(_ header: RoleHeader, signed: MetadataField) throws {
    self.header = header
    targets = try signed["targets"].members { name, field in
      guard name.utf8.count <= MetadataLimits.nameLength else {
        throw ContentError.metadataDamaged(
          field.role,
          "the name \(name.prefix(100))… has more than "
            + "\(MetadataLimits.nameLength) bytes")
      }
      return try TargetFile(field)
    }
    delegations = try signed.optional("delegations").flatMap {
      $0.value == .null ? nil : try Delegations($0)
    }
  }

  package var members: [String: JSONValue] {
    var members: [String: JSONValue] = ["targets": .object(targets.mapValues(\.json))]
    members["delegations"] = delegations?.json
    return members
  }
}
