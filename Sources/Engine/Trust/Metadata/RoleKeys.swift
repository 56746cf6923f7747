import HostedModel

/// The keys of a role, and how many different keys must sign.
package struct RoleKeys: Hashable, Sendable {
  package let identifiers: Set<String>
  /// The number of keys that must sign, 1 or more.
  package let threshold: Int64

  package init(identifiers: Set<String>, threshold: Int64) {
    self.identifiers = identifiers
    self.threshold = threshold
  }

  /// Any `threshold` of `keys` must sign.
  init(_ keys: [PublicKey], threshold: Int64) throws {
    self.init(identifiers: Set(keys.map(\.identifier)), threshold: threshold)
  }

  init(_ field: MetadataField) throws {
    let names = try field["keyids"].elements(atMost: MetadataLimits.keys)
      .map { try $0.string(atMost: MetadataLimits.identifierLength) }
    identifiers = Set(names)
    guard identifiers.count == names.count else {
      throw ContentError.metadataDamaged(field.role, "\(field.path).keyids names a key twice")
    }
    threshold = try field["threshold"].integer(atLeast: 1)
  }

  var json: JSONValue {
    .object([
      "keyids": .array(identifiers.sorted().map(JSONValue.string)),
      "threshold": .integer(threshold),
    ])
  }
}

/// The keys in a document, by identifier.
package struct KeyList: Sendable {
  /// The keys of supported kinds.
  package let keys: [String: PublicKey]
  /// All keys as they were read, with unsupported kinds and unknown members.
  private let objects: [String: JSONValue]

  var json: JSONValue { .object(objects) }

  func keeping(_ identifiers: Set<String>) -> KeyList {
    KeyList(
      keys: keys.filter { identifiers.contains($0.key) },
      objects: objects.filter { identifiers.contains($0.key) })
  }

  func merging(_ other: KeyList) -> KeyList {
    KeyList(
      keys: keys.merging(other.keys) { $1 }, objects: objects.merging(other.objects) { $1 })
  }
}

extension KeyList {
  init(_ keys: some Sequence<PublicKey>) throws {
    self.keys = keys.reduce(into: [:]) { $0[$1.identifier] = $1 }
    objects = self.keys.mapValues(\.json)
  }

  init(_ field: MetadataField) throws {
    objects = try field.members(atMost: MetadataLimits.keys) { key, field in
      guard key.utf8.count <= MetadataLimits.identifierLength, case .object = field.value else {
        throw ContentError.metadataDamaged(
          field.role,
          "\(field.path.prefix(300)) is not a key with an identifier of at most "
            + "\(MetadataLimits.identifierLength) bytes")
      }
      return field.value
    }
    keys = objects.compactMapValues(PublicKey.init(json:))
  }
}
