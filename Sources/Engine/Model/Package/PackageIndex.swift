/// The index of a package: digests of its pieces, and the files inside.
///
/// It is built when publishing and signed with the catalog, so that each piece can be authenticated
/// alone, before it is parsed. If the members of a package can be decoded alone, the index has a
/// `payload`. Otherwise the package is fetched by `blocks`, and `obstacle` is the reason.
package struct PackageIndex: Hashable, Sendable {
  /// The maximum length of an index in bytes; longer ones are refused before parsing.
  package static let maximumLength: Int64 = 64 << 20
  /// The maximum length of a package, and of all its installed files, in bytes.
  package static let maximumSize: Int64 = 1 << 40
  /// The maximum number of entries of an index or package.
  package static let maximumEntryCount = 100_000
  /// The maximum total length of all paths and link targets of an index or package, in bytes.
  package static let maximumPathTotal = 16 << 20

  /// The maximum length of an obstacle, in bytes; longer ones are shortened.
  static let obstacleLimit = 1024

  /// The length of the package in bytes.
  package let packageLength: Int64
  /// The members; nil for a package that must be read sequentially.
  package let payload: PayloadIndex?
  /// The reason, one sentence, why the index does not have members; nil if it does.
  package let obstacle: String?
  /// The length of each block in bytes; the last may be shorter; 0 if the index has members.
  package let blockLength: Int
  /// SHA-256 of each block of the package, in order; empty if the index has members.
  package let blocks: [Digest]
  /// The entries, sorted by the bytes of their paths.
  package let files: [IndexedFile]

  /// Creates the index of a package that is fetched by blocks.
  package init(
    packageLength: Int64, blockLength: Int, blocks: [Digest], files: [IndexedFile],
    obstacle: String? = nil
  ) {
    self.packageLength = packageLength
    self.blockLength = blockLength
    self.blocks = blocks
    self.files = files
    // The path of a file may be in it.
    self.obstacle = obstacle.map {
      $0.utf8.count <= Self.obstacleLimit ? $0 : $0.printable(limit: Self.obstacleLimit / 4 - 1)
    }
    payload = nil
  }

  /// Creates the index of a package whose members can be decoded alone.
  package init(packageLength: Int64, payload: PayloadIndex, files: [IndexedFile]) {
    self.packageLength = packageLength
    self.payload = payload
    self.files = files
    obstacle = nil
    blockLength = 0
    blocks = []
  }

  /// The size of all installed files in bytes.
  package var installedSize: Int64 { files.reduce(0) { $0 + $1.size } }

  /// Returns the byte range of block `number`.
  package func range(ofBlock number: Int) -> Range<Int64> {
    let start = Int64(number) * Int64(blockLength)
    return start..<min(start + Int64(blockLength), packageLength)
  }

  /// Whether the numbers are consistent, so that arithmetic on them is safe.
  package var isConsistent: Bool {
    guard (0...Self.maximumSize).contains(packageLength), hasPlausibleFiles else { return false }
    if let payload { return payload.isConsistent(with: files, packageLength: packageLength) }
    return (4096...(64 << 20)).contains(blockLength)
      && Int64(blocks.count) == (packageLength + Int64(blockLength) - 1) / Int64(blockLength)
  }

  private var hasPlausibleFiles: Bool {
    var total: Int64 = 0
    for file in files {
      guard (0...Self.maximumSize).contains(file.size), file.kind == .file || file.size == 0 else {
        return false
      }
      total += file.size
      if total > Self.maximumSize { return false }
    }
    return true
  }
}

/// A file, folder or link inside a package.
package struct IndexedFile: Hashable, Codable, Sendable {
  /// The path relative to the content's root, with `/`, such as `Contents/page-1.txt`.
  package let path: String
  /// The kind of the entry.
  package let kind: Kind
  /// The size in bytes; 0 for folders and links.
  package let size: Int64
  /// SHA-256 of a regular file's bytes; nil for others.
  package let digest: Digest?
  /// A symbolic link's target; nil for others.
  package let target: String?

  /// The allowed kinds of entries; others are refused.
  package enum Kind: String, Codable, Sendable {
    case file, directory, link
  }

  package init(
    path: String, kind: Kind, size: Int64 = 0, digest: Digest? = nil, target: String? = nil
  ) {
    self.path = path
    self.kind = kind
    self.size = size
    self.digest = digest
    self.target = target
  }
}
