import ContentModel
import ContentTrust
import Digests
import FileIO

/// A file of a store's metadata.
struct MetadataDocument {
  let role: RoleName
  let version: Int64
  let bytes: [UInt8]

  /// The name of its file; only the timestamp keeps its name from version to version.
  var name: String { Self.name(role, version) }

  /// What another role promises of it.
  var promise: MetadataFile { get throws { try MetadataFile(version: version, bytes: bytes) } }

  var signedVersion: SignedVersion {
    get throws { SignedVersion(version: version, digest: try Digest(of: bytes)) }
  }

  static func name(_ role: RoleName, _ version: Int64) -> String {
    role == .timestamp ? role.fileName : "\(version).\(role.fileName)"
  }

  /// Writes the file durably.
  func write(to folder: Directory) throws {
    try ServedFolder(folder).replaceFile(name) { try $0.write(bytes) }
  }
}

/// The number of a metadata file and the SHA-256 of its bytes.
struct SignedVersion: Hashable {
  let version: Int64
  let digest: Digest
}

extension Directory {
  /// The bytes of a metadata file that `verify` accepts; its refusal names the file.
  func metadata(_ role: RoleName, _ version: Int64 = 0, _ verify: ([UInt8]) throws -> Void) throws
    -> [UInt8]
  {
    let name = MetadataDocument.name(role, version)
    let bytes = try contents(of: name, limit: role.limit)
    do {
      try verify(bytes)
    } catch let error as ContentError where error.group == .trust {
      throw ContentError.foreignMetadata(role, path(of: name), error)
    }
    return bytes
  }
}

extension ContentError {
  /// A file of `role` in the store's folder that the store's own keys did not sign so.
  static func foreignMetadata(_ role: RoleName, _ path: String, _ reason: ContentError)
    -> ContentError
  {
    // Roots cannot be repaired: clients need each one as it was.
    let repair = role == .root ? "" : ". Or repair the store with hostedcontent store repair"
    return ContentError(
      reason.code, "Cannot use \(path): \(reason.message)",
      remedy: "Find out who wrote this file. Put the store's own file back from a copy, or remove "
        + "the file if the store did not have it\(repair)",
      subject: path, cause: reason.cause)
  }
}
