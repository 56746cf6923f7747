import ContentModel
import Digests
import FoundationEssentials

extension ContentError {
  private static let publisherRemedy =
    "Try again later; if it stays, tell the store's owner, and trust nothing from it until then"

  static func metadataDamaged(_ role: MetadataName, _ reason: String) -> ContentError {
    ContentError(
      .metadataDamaged, "The \(role.text) metadata is damaged: \(reason)",
      remedy: publisherRemedy, subject: role.fileName)
  }

  static func metadataTooLong(_ role: MetadataName, limit: Int64) -> ContentError {
    metadataDamaged(role, "it is longer than the \(limit) bytes that are read")
  }

  static func signaturesMissing(
    _ role: MetadataName, found: Int, demanded: Int64, by demander: String
  ) -> ContentError {
    ContentError(
      .signatureInvalid,
      "The \(role.text) metadata has \(found) valid signatures of the \(demanded) that "
        + "\(demander) demands",
      remedy: "Check that the store is the one whose root is trusted; if it is, tell its owner",
      subject: role.fileName)
  }

  static func metadataExpired(_ role: MetadataName, _ expires: Date, now: Date) -> ContentError {
    ContentError(
      .metadataExpired,
      "The \(role.text) metadata expired at \(expires.metadataText); it is "
        + now.metadataText,
      remedy:
        "The store's owner runs hostedcontent store refresh; check this system's clock if they did",
      subject: role.fileName)
  }

  static func rolledBack(
    _ role: MetadataName, _ found: Int64, trusted: Int64, in file: MetadataName? = nil
  ) -> ContentError {
    let place = file.map { "in the \($0.text) metadata " } ?? ""
    return ContentError(
      .metadataRolledBack,
      "Version \(found) of the \(role.text) metadata \(place)is not version \(trusted) or "
        + "newer, which was trusted before",
      remedy: "Ask the store's owner whether an old copy is being served; nothing old is taken",
      subject: role.fileName)
  }

  static func wrongVersion(
    _ role: MetadataName, _ found: Int64, promised: Int64, by promiser: String
  ) -> ContentError {
    ContentError(
      found < promised ? .metadataRolledBack : .metadataDamaged,
      "The \(role.text) metadata has version \(found), but \(promiser) promises \(promised)",
      remedy: "Ask the store's owner whether files of different publications are being served",
      subject: role.fileName)
  }

  static func digestMismatch(_ file: String, _ difference: String) -> ContentError {
    ContentError(
      .digestMismatch, "\(file) is not what the signed metadata promises: \(difference)",
      remedy: publisherRemedy, subject: file)
  }

  /// The given root, of which `file` are the bytes, is not connected to the one in `folder`.
  static func rootMismatch(
    given: RootRole, file: [UInt8], trusted: RootRole, in folder: TrustFolder, cause: String?
  ) throws -> ContentError {
    let kept = try folder.metadata(.root).map { try Digest(of: $0).hex } ?? "unknown"
    return ContentError(
      .rootMismatch,
      "The given root (version \(given.version), SHA-256 \(try Digest(of: file).hex)) is not "
        + "connected by signed roots to the trusted root (version \(trusted.version), SHA-256 "
        + "\(kept))",
      remedy: "Give the root of the store that is trusted. To trust the given root instead, remove "
        + "the folder \(folder.path)",
      subject: folder.path, cause: cause)
  }

  static func storeMissing(_ path: String) -> ContentError {
    ContentError(
      .storeMissing, "The store has no \(path)",
      remedy: "Check the store's address; if it is right, its owner publishes again", subject: path)
  }
}

extension TrustedMetadata {
  /// Throws `rootInvalid` for bytes that are not root metadata, signed by its own keys.
  static func check(given root: [UInt8]) throws {
    do {
      _ = try TrustedMetadata(root: root)
    } catch let error as ContentError where error.group == .trust {
      throw ContentError(
        .rootInvalid, "The given file is not the root metadata of a store",
        remedy: "Give the file 1.root.json that the store's owner published", cause: error.message)
    }
  }
}

/// Checks what was fetched against what was promised of it.
func check(_ bytes: [UInt8], length: Int64?, hashes: FileHashes?, of file: String) throws {
  if let length, Int64(bytes.count) != length {
    throw ContentError.digestMismatch(file, "it has \(bytes.count) bytes instead of \(length)")
  }
  guard let hashes else { return }
  var hashing = FileHashing(hashes)
  try bytes.withUnsafeBytes { try hashing.update($0) }
  if let difference = try hashing.difference() {
    throw ContentError.digestMismatch(file, difference)
  }
}
