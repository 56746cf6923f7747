import HostedModel
import HostedDigests

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
