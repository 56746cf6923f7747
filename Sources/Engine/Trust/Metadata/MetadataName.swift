import HostedModel

/// The top-level roles of The Update Framework, in the order in which a client fetches them.
package enum RoleName: String, CaseIterable, Sendable {
  case root, timestamp, snapshot, targets

  /// The name of the role's file in other roles, and in a store if the name has no version.
  package var fileName: String { "\(rawValue).json" }

  /// The maximum length of this role's metadata, in bytes.
  package var limit: Int64 {
    switch self {
    case .root: 512 << 10
    case .timestamp: 16 << 10
    case .snapshot, .targets: 64 << 20
    }
  }
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

  /// The maximum length of this metadata, in bytes.
  package var limit: Int64 {
    switch self {
    case .top(let role): role.limit
    case .delegated: RoleName.targets.limit
    }
  }
}

/// Limits for the content of metadata.
///
/// Metadata beyond a limit is refused. The length is checked before parsing (`RoleName.limit`),
/// depth and memory during parsing (`JSONValue`), and the number of entries when a role is read.
package enum MetadataLimits {
  /// Signatures of one document.
  package static let signatures = 1024
  /// Keys in a root, or in the delegations of one role.
  package static let keys = 1024
  /// Roles that one role delegates to.
  package static let delegations = 32_768
  /// Path patterns or hash prefixes of one delegation.
  package static let patterns = 16_384
  /// The length of a target's name or of a pattern, in bytes.
  package static let nameLength = 4096
  /// The length in bytes of a key's identifier, or of a delegated role's name in a URL.
  package static let identifierLength = 240
  /// Delegated roles that are searched for one target.
  static let searchedRoles = 32
  /// Roots that a client follows at once.
  package static let rootSteps = 256
  /// The length of a snapshot, in bytes, if the timestamp does not give it.
  package static let unlistedSnapshotLength: Int64 = 2 << 20
  /// Hexadecimal digits of a signature.
  package static let signatureLength = 4096
}
