import HostedDigests
package import HostedModel

/// One list of a store's catalog: all entries of a small store, or one hash bin of a large one.
///
/// An entry is the target `ID/product.json`. It is a product, or a content with a name of its own,
/// whose `custom.owner` is its product. So no two products can have the same content.
package struct CatalogList: Sendable {
  package enum Entry: Hashable, Sendable {
    /// A product, and the file of its record.
    case product(TargetFile)
    /// A content of another product.
    case content(of: ProductIdentifier)
  }

  /// The role that lists the entries.
  package let name: MetadataName
  package let role: TargetsRole

  package init(_ name: MetadataName, _ role: TargetsRole) { (self.name, self.role) = (name, role) }

  /// The entry of `name`; nil if it is not in the list.
  package func entry(_ name: ProductIdentifier) -> Entry? {
    role.targets[StorePath.entry(name)].map(Self.entry)
  }

  /// The products of the list, with the files of their records.
  package var products: [ProductIdentifier: TargetFile] {
    entries.compactMapValues { if case .product(let file) = $0 { file } else { nil } }
  }

  /// All entries.
  ///
  /// Targets with other names, which a later version may write, are ignored.
  package var entries: [ProductIdentifier: Entry] {
    role.targets.reduce(into: [:]) { entries, target in
      guard let name = StorePath.identifier(ofEntry: target.key) else { return }
      entries[name] = Self.entry(target.value)
    }
  }

  private static func entry(_ file: TargetFile) -> Entry {
    guard let owner = file.custom?[ownerKey]?.string else { return .product(file) }
    return (try? ProductIdentifier(validating: owner)).map { .content(of: $0) } ?? .product(file)
  }

  private static let ownerKey = "owner"

  /// The `custom` member of a content's entry.
  package static func custom(ownedBy product: ProductIdentifier) -> JSONValue {
    .object([ownerKey: .string(product.rawValue)])
  }
}

/// What the publisher adds to the metadata of a list: its name, and the file of its records.
///
/// TUF signs no role names. With the name, a server cannot send one bin as another.
package struct ListDetails: Hashable, Sendable {
  package let role: String
  /// The length of the records file, in bytes.
  package let length: Int64
  /// SHA-256 of the records file.
  package let digest: Digest

  /// Whether the records file exists; a list without products does not have one.
  package var hasFile: Bool { length > 0 }

  /// The member of the signed metadata.
  static let key = "catalog"

  package init(role: MetadataName, length: Int64, digest: Digest) {
    (self.role, self.length, self.digest) = (role.text, length, digest)
  }

  init?(json: JSONValue?) {
    guard let role = json?["role"]?.string, let records = json?["records"],
      let length = records["length"]?.integer, length >= 0,
      let digest = records["sha256"]?.string.flatMap({ Digest(hex: $0) })
    else { return nil }
    (self.role, self.length, self.digest) = (role, length, digest)
  }

  package var json: JSONValue {
    .object([
      "role": .string(role),
      "records": .object(["length": .integer(length), "sha256": .string(digest.hex)]),
    ])
  }
}

/// The records of all products of a list, one per line.
///
/// Each line is the content of one `product.json`, so the list authenticates it by its digest.
package enum RecordsFile {
  /// The maximum length, in bytes.
  package static let maximumLength: Int64 = 64 << 20
  private static let suffix = "records.jsonl"

  /// The name in the folder of the metadata.
  package static func name(_ digest: Digest) -> String { "\(digest.hex).\(suffix)" }

  /// The path below the store.
  package static func path(_ digest: Digest) -> String { "\(MetadataName.folder)/\(name(digest))" }

  /// The digest in the name of a records file; nil for any other name.
  package static func digest(inName name: String) -> Digest? {
    guard name.hasSuffix(".\(suffix)") else { return nil }
    return Digest(hex: name.dropLast(suffix.utf8.count + 1)).flatMap {
      Self.name($0) == name ? $0 : nil
    }
  }

  /// The file with `records`, each in one line.
  package static func bytes(_ records: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(records.reduce(0) { $0 + $1.count + 1 })
    for record in records {
      bytes += record
      bytes.append(UInt8(ascii: "\n"))
    }
    return bytes
  }

  /// The lines of the file, by their digests.
  package static func records(in bytes: [UInt8]) throws -> [Digest: [UInt8]] {
    try bytes.split(separator: UInt8(ascii: "\n")).reduce(into: [:]) {
      let line = Array($1)
      $0[try Digest(of: line)] = line
    }
  }
}
