import ContentModel
import Digests
import FoundationEssentials

/// The name of a folder that a library creates in `staging`; nothing with another name is removed
/// there.
///
/// A repair's folder is named by a UUID in lower case, a download's by a UUID, `-` and a number
/// from 1, and one that is being removed by `removed-`, a digest of what it belongs to, `-` and the
/// number of its inode.
struct StagingName {
  let rawValue: String

  private static let removal = "removed-"

  /// Checks a name; throws `inconsistent` for one that a library does not create.
  init(_ text: String) throws {
    let isRemoval = text.hasPrefix(Self.removal)
    guard isRemoval ? Self.isRemoved(text.dropFirst(Self.removal.count)) : Self.isWork(text) else {
      throw ContentError(
        .inconsistent, "“\(text)” is not the name of a download or a repair", remedy: "Report it",
        subject: text)
    }
    rawValue = text
  }

  /// The name for the removed folder `inode` of `subject`: of a version as `subject(of:_:)` makes
  /// it, or a download's identifier.
  init(removing subject: String, inode: UInt64) throws {
    rawValue = "\(try Self.removalPrefix(of: subject))\(inode)"
  }

  static func subject(of content: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(content)/\(version.rawValue)"
  }

  /// What the names of a subject's removed folders begin with.
  ///
  /// A digest, because content and version may together be too long for a name.
  static func removalPrefix(of subject: String) throws -> String {
    "\(removal)\(try Digest(of: Array(subject.utf8)))-"
  }

  private static func isRemoved(_ text: Substring) -> Bool {
    let digest = text.prefix(64)
    let number = text.dropFirst(64)
    return Digest(hex: digest)?.hex == String(digest) && number.first == "-"
      && isNumber(number.dropFirst())
  }

  /// Whether it is what a removal moves a folder to.
  var isRemoval: Bool { rawValue.hasPrefix(Self.removal) }

  private static func isWork(_ text: String) -> Bool {
    let identifier = String(text.prefix(36))
    guard UUID(uuidString: identifier)?.uuidString.lowercased() == identifier else { return false }
    let rest = text.dropFirst(36)
    return rest.isEmpty || rest.first == "-" && isNumber(rest.dropFirst())
  }

  private static func isNumber(_ digits: Substring) -> Bool {
    UInt64(digits).map { $0 > 0 && "\($0)" == digits } ?? false
  }
}
