import ContentModel
import Digests
import FoundationEssentials

/// The name of a folder that a library creates in `staging`.
///
/// Other names are never removed. The name of a repair is a lower-case UUID. The name of a download
/// is a UUID, `-` and a number from 1. The name of a removed folder is `removed-`, a digest of its
/// subject, `-` and its inode number.
struct StagingName {
  let rawValue: String

  private static let removal = "removed-"

  /// Checks a name; throws `inconsistent` for a name that a library does not create.
  init(_ text: String) throws {
    let isRemoval = text.hasPrefix(Self.removal)
    let isKnown =
      isRemoval
      ? Self.isRemoved(text.dropFirst(Self.removal.count)) : Self.isDownloadOrRepair(text)
    guard isKnown else {
      throw ContentError(
        .inconsistent, "“\(text)” is not the name of a download or a repair",
        remedy: "Report a bug",
        subject: text)
    }
    rawValue = text
  }

  /// The name for a removed folder with this inode number.
  ///
  /// The subject is a version (see `subject(of:_:)`) or a download's identifier.
  init(removing subject: String, inode: UInt64) throws {
    rawValue = "\(try Self.removalPrefix(of: subject))\(inode)"
  }

  static func subject(of content: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(content)/\(version.rawValue)"
  }

  /// The prefix of the names of a subject's removed folders.
  ///
  /// It uses a digest, because content and version together may be too long for a file name.
  static func removalPrefix(of subject: String) throws -> String {
    "\(removal)\(try Digest(of: Array(subject.utf8)))-"
  }

  private static func isRemoved(_ text: Substring) -> Bool {
    let digest = text.prefix(64)
    let number = text.dropFirst(64)
    return Digest(hex: digest)?.hex == String(digest) && number.first == "-"
      && isNumber(number.dropFirst())
  }

  /// Whether it is the name of a removed folder.
  var isRemoval: Bool { rawValue.hasPrefix(Self.removal) }

  private static func isDownloadOrRepair(_ text: String) -> Bool {
    let identifier = String(text.prefix(36))
    guard UUID(uuidString: identifier)?.uuidString.lowercased() == identifier else { return false }
    let rest = text.dropFirst(36)
    return rest.isEmpty || rest.first == "-" && isNumber(rest.dropFirst())
  }

  private static func isNumber(_ digits: Substring) -> Bool {
    UInt64(digits).map { $0 > 0 && "\($0)" == digits } ?? false
  }
}
