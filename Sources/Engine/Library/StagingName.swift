import HostedModel
import HostedDigests
import FoundationEssentials

/// The names of the folders that a library creates in `staging`; other names are never removed.
enum StagingName {
  private static let removal = "removed-"

  /// Returns the name of a download's or repair's folder; throws `inconsistent` for another name.
  static func checked(_ id: String) throws -> String {
    guard isDownloadOrRepair(id) else {
      throw ContentError.defect(
        "“\(id)” is not the name of a download or a repair", subject: id)
    }
    return id
  }

  /// Whether it is a lower-case UUID (a repair), or a UUID, `-` and a number from 1 (a download).
  static func isDownloadOrRepair(_ name: String) -> Bool {
    let identifier = String(name.prefix(36))
    guard UUID(uuidString: identifier)?.uuidString.lowercased() == identifier else { return false }
    let rest = name.dropFirst(36)
    return rest.isEmpty || rest.first == "-" && isNumber(rest.dropFirst())
  }

  /// Whether it is `removed-`, a digest of the subject, `-` and an inode number.
  static func isRemoval(_ name: String) -> Bool {
    guard name.hasPrefix(removal) else { return false }
    let digest = name.dropFirst(removal.count).prefix(64)
    let number = name.dropFirst(removal.count + 64)
    return Digest(hex: digest)?.hex == String(digest) && number.first == "-"
      && isNumber(number.dropFirst())
  }

  /// The name for a removed folder of a subject: a version, or a download's identifier.
  static func removal(of subject: String, inode: UInt64) throws -> String {
    "\(try removalPrefix(of: subject))\(inode)"
  }

  /// The prefix of the names of a subject's removed folders.
  ///
  /// It uses a digest, because content and version together may be too long for a file name.
  static func removalPrefix(of subject: String) throws -> String {
    "\(removal)\(try Digest(of: Array(subject.utf8)))-"
  }

  /// The subject for a version.
  static func subject(of content: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(content)/\(version.rawValue)"
  }

  private static func isNumber(_ digits: Substring) -> Bool {
    UInt64(digits).map { $0 > 0 && "\($0)" == digits } ?? false
  }
}
