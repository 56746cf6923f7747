/// How much metadata may hold; what has more is refused before anything is made of it.
///
/// Bytes are bounded before parsing (`RoleName.limit`), depth and memory while parsing
/// (`JSONValue`), and what a role lists when it is read.
package enum MetadataLimits {
  /// Signatures under one document.
  package static let signatures = 1024
  /// Keys that one root or one role's delegations list.
  package static let keys = 1024
  /// Roles that one role delegates to.
  package static let delegations = 32_768
  /// Path patterns or hash prefixes of one delegation.
  package static let patterns = 16_384
  /// Bytes of a target's name, or of a pattern.
  package static let nameLength = 4096
  /// Bytes of a key's identifier, or of a delegated role's name in a URL.
  package static let identifierLength = 240
  /// Hexadecimal digits of a signature.
  package static let signatureLength = 4096
}

extension RoleName {
  /// Bytes of metadata of this role that are read at most.
  package var limit: Int64 {
    switch self {
    case .root: 512 << 10
    case .timestamp: 16 << 10
    case .snapshot, .targets: 64 << 20
    }
  }
}

extension MetadataName {
  /// Bytes of this metadata that are read at most.
  var limit: Int64 {
    switch self {
    case .top(let role): role.limit
    case .delegated: RoleName.targets.limit
    }
  }
}
