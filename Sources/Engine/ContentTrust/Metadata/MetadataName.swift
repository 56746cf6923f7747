import ContentModel

/// The top-level roles of The Update Framework, in the order in which a client fetches them.
package enum RoleName: String, CaseIterable, Sendable {
  case root, timestamp, snapshot, targets

  /// The name of the role's file in other roles, and in a store if the name has no version.
  package var fileName: String { "\(rawValue).json" }
}

/// The name of a role's metadata: a top-level role or a delegated role.
package enum MetadataName: Hashable, Sendable {
  case top(RoleName)
  case delegated(String)

  package static let root = MetadataName.top(.root)
  package static let timestamp = MetadataName.top(.timestamp)
  package static let snapshot = MetadataName.top(.snapshot)
  package static let targets = MetadataName.top(.targets)

  /// The role's name in metadata and messages.
  package var text: String {
    switch self {
    case .top(let role): role.rawValue
    case .delegated(let name): name
    }
  }

  /// The name that a snapshot uses for the file.
  package var fileName: String { "\(text).json" }

  /// The name of the file on disk.
  ///
  /// In a store, the version precedes it.
  ///
  /// Every byte except letters, digits and `_.-~` is percent-encoded, so that a name cannot point
  /// to another folder.
  package var encodedFileName: String { "\(PercentEncoding.component(text)).json" }
}

/// Percent-encoding for the path of a URL (RFC 3986).
package enum PercentEncoding {
  private static let unreserved = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~".utf8)

  /// Encodes one component.
  ///
  /// A `/` is encoded too.
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

  /// Encodes the components of a path and keeps the slashes between them.
  package static func path(_ text: String) -> String {
    text.pathComponents(omittingEmpty: false).map { component($0) }
      .joined(separator: "/")
  }
}
