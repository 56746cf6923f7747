package import HostedModel
import HostedDigests

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
