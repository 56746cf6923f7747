import ContentModel
import Digests
import FoundationEssentials

/// The name of a folder that a library creates in `staging`; nothing with another name is removed there.
///
/// A repair's folder is named by a UUID in lower case, a download's by a UUID, `-` and a number from 1,
/// and that of a version that is being removed by `removed-`, the digest of content and version, `-` and the
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

  /// The name for the removed folder `inode` of a version.
  init(removing content: ProductIdentifier, _ version: ContentVersion, inode: UInt64) throws {
    rawValue = "\(try Self.removalPrefix(of: content, version))\(inode)"
  }

  /// What the names of a version's removed folders begin with.
  ///
  /// A digest, because content and version may together be too long for a name.
  static func removalPrefix(
    of content: ProductIdentifier, _ version: ContentVersion
  ) throws -> String {
    "\(removal)\(try Digest(of: Array("\(content)/\(version.rawValue)".utf8)))-"
  }

  private static func isRemoved(_ text: Substring) -> Bool {
    let digest = text.prefix(64)
    let number = text.dropFirst(64)
    return Digest(hex: digest)?.hex == String(digest) && number.first == "-"
      && isNumber(number.dropFirst())
  }

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
