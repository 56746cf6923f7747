import HostedModel

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

  /// The folder of all metadata below a store.
  package static let folder = "metadata"

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
  /// In a store, the version precedes it. Every byte except letters, digits and `_.-~` is
  /// percent-encoded, so that a name cannot point to another folder.
  package var encodedFileName: String { "\(PercentEncoding.component(text)).json" }

  /// The path of the file below a store; nil is for a name without a version.
  package func path(version: Int64? = nil) -> String {
    "\(Self.folder)/\(version.map { "\($0)." } ?? "")\(encodedFileName)"
  }
}
