import HostedModel

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

extension RoleName {
  /// The maximum length of this role's metadata, in bytes.
  package var limit: Int64 {
    switch self {
    case .root: 512 << 10
    case .timestamp: 16 << 10
    case .snapshot, .targets: 64 << 20
    }
  }
}

extension MetadataName {
  /// The maximum length of this metadata, in bytes.
  package var limit: Int64 {
    switch self {
    case .top(let role): role.limit
    case .delegated: RoleName.targets.limit
    }
  }

  /// The maximum length in bytes if the metadata that lists the file does not give its length.
  var unlistedLimit: Int64 { self == .snapshot ? MetadataLimits.unlistedSnapshotLength : limit }
}
