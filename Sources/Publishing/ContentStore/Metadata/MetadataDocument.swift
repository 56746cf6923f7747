import HostedModel
import HostedTrust
import HostedDigests
import HostedFileIO

struct MetadataDocument {
  let role: MetadataName
  let version: Int64
  let bytes: [UInt8]

  /// The name of the file; only the name of the timestamp has no version.
  var name: String { Self.name(role, version) }

  /// The entry of this file in the metadata of another role.
  var entry: MetadataFile { get throws { try MetadataFile(version: version, bytes: bytes) } }

  var signedVersion: SignedVersion {
    get throws { SignedVersion(version: version, digest: try Digest(of: bytes)) }
  }

  static func name(_ role: MetadataName, _ version: Int64) -> String {
    role == .timestamp ? role.encodedFileName : "\(version).\(role.encodedFileName)"
  }

  /// The version in the name of a file of `role`; nil for any other name, and for a timestamp.
  static func version(_ role: RoleName, in file: String) -> Int64? {
    guard let version = file.split(separator: ".").first.flatMap({ Int64($0) }), version > 0,
      name(.top(role), version) == file
    else { return nil }
    return version
  }

  /// The bin and the version in the name of a file; nil for any other name.
  static func bin(in file: String) -> (MetadataName, Int64)? {
    let parts = file.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
    guard parts.count == 3, let version = Int64(parts[0]), version > 0,
      HashBins.isStoreBin(parts[1])
    else { return nil }
    let bin = MetadataName.delegated(parts[1])
    guard name(bin, version) == file else { return nil }
    return (bin, version)
  }
}

/// The version of a metadata file, and the SHA-256 of its bytes.
struct SignedVersion: Hashable {
  let version: Int64
  let digest: Digest
}

extension Directory {
  /// Returns the bytes of a metadata file, and what `verify` returns; an error names the file.
  func metadata<Value>(_ role: RoleName, _ version: Int64, _ verify: ([UInt8]) throws -> Value)
    throws -> ([UInt8], Value)
  {
    let name = MetadataDocument.name(.top(role), version)
    let bytes = try contents(of: name, limit: role.limit)
    do {
      return (bytes, try verify(bytes))
    } catch let error as ContentError where error.group == .trust {
      throw ContentError.foreignMetadata(role, path(of: name), error)
    }
  }
}

extension ContentError {
  /// A file of `role` in the store's folder was not signed with the store's keys.
  static func foreignMetadata(_ role: RoleName, _ path: String, _ reason: ContentError)
    -> ContentError
  {
    // Roots cannot be repaired: clients need every root unchanged.
    let repair = role == .root ? "" : ". Or repair the store"
    return ContentError(
      reason.code, "Cannot use \(path): \(reason.message)",
      remedy: "Find out who wrote this file. Restore the store's own file from a copy, or remove "
        + "the file if the store did not have it\(repair)",
      subject: path, cause: reason.cause)
  }
}
