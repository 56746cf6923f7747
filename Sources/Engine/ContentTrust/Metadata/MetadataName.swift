import ContentModel

/// The top-level roles of The Update Framework, by what the newcomer fetches first.
package enum RoleName: String, CaseIterable, Sendable {
  case root, timestamp, snapshot, targets

  /// The name of the role's file in other roles and, without a version, in a store.
  package var fileName: String { "\(rawValue).json" }
}

/// The name of any role's metadata: a top-level one, or one that targets were delegated to.
package enum MetadataName: Hashable, Sendable {
  case top(RoleName)
  case delegated(String)

  package static let root = MetadataName.top(.root)
  package static let timestamp = MetadataName.top(.timestamp)
  package static let snapshot = MetadataName.top(.snapshot)
  package static let targets = MetadataName.top(.targets)

  /// The role's name as metadata and messages write it.
  package var text: String {
    switch self {
    case .top(let role): role.rawValue
    case .delegated(let name): name
    }
  }

  /// The name under which a snapshot promises it.
  package var fileName: String { "\(text).json" }

  /// The name of its file, in a store behind its version and among trusted metadata.
  ///
  /// Every byte but letters, digits and `_.-~` is written as `%` and two digits, so that a name
  /// leads into no other folder.
  package var encodedFileName: String { "\(PercentEncoding.component(text)).json" }
}

/// Names as they stand in a URL's path (RFC 3986).
package enum PercentEncoding {
  private static let unreserved = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~".utf8)

  /// One component: `/` is encoded too.
  package static func component(_ text: some StringProtocol) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if unreserved.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// A path: each component encoded, the slashes between them kept.
  package static func path(_ text: String) -> String {
    text.pathComponents(omittingEmpty: false).map { component($0) }
      .joined(separator: "/")
  }
}
