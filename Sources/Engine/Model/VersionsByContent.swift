/// Coding of versions by content; in JSON, an object without contents is absent.
extension KeyedDecodingContainer {
  /// Decodes versions by content; returns an empty dictionary if `key` is absent.
  package func decodeVersions(forKey key: Key) throws -> [ProductIdentifier: [ContentVersion]] {
    let named = try decodeIfPresent([String: [ContentVersion]].self, forKey: key) ?? [:]
    return try named.reduce(into: [:]) {
      $0[try ProductIdentifier(validating: $1.key)] = $1.value
    }
  }
}

extension KeyedEncodingContainer {
  /// Encodes `versions` by content, unless it is empty.
  package mutating func encodeVersions(
    _ versions: [ProductIdentifier: [ContentVersion]], forKey key: Key
  ) throws {
    guard !versions.isEmpty else { return }
    // A dictionary with other keys than strings would be encoded as an array.
    let named: [String: [ContentVersion]] = versions.reduce(into: [:]) {
      $0[$1.key.rawValue] = $1.value
    }
    try encode(named, forKey: key)
  }
}
