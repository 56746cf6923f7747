import ContentModel
import FoundationEssentials

/// The name of a folder that a library creates in `staging`; nothing with another name is removed there.
///
/// A repair's folder is named by a UUID in lower case, a download's by a UUID, `-` and a number from 1,
/// and that of a version that is being removed by `removed-` and the number of its inode.
struct StagingName {
  let rawValue: String

  private static let removal = "removed-"

  /// Checks a name; throws `inconsistent` for one that a library does not create.
  init(_ text: String) throws {
    let isRemoval = text.hasPrefix(Self.removal)
    guard isRemoval ? Self.isNumber(text.dropFirst(Self.removal.count)) : Self.isWork(text) else {
      throw ContentError(
        .inconsistent, "“\(text)” is not the name of a download or a repair", remedy: "Report it",
        subject: text)
    }
    rawValue = text
  }

  /// The name for a version whose folder has the number `inode`.
  init(removing inode: UInt64) { rawValue = "\(Self.removal)\(inode)" }

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
