/// What a package consists of: digests of its bytes, piece by piece, and the files inside.
///
/// It is derived at publishing and signed with the catalog, so that each piece can be
/// authenticated alone, before anything parses it. A package whose members can be decoded alone has
/// a `payload`; any other one is fetched by `blocks`, and `obstacle` says why.
package struct PackageIndex: Hashable, Sendable {
  /// An index may not be longer, in bytes; a reader refuses it before parsing.
  package static let maximumLength: Int64 = 64 << 20
  /// An index may not have more entries; a package has no more.
  package static let maximumEntryCount = 100_000
  /// Bytes of all paths and links' targets together, at most; a package has no more.
  package static let maximumPathTotal = 16 << 20

  /// Bytes of the package.
  package let packageLength: Int64
  /// The members; nil for a package that is read from its beginning to its end.
  package let payload: PayloadIndex?
  /// Why there are no members, one sentence; nil when there are.
  package let obstacle: String?
  /// Bytes of each block but the last, which may be shorter; 0 when there are members.
  package let blockLength: Int
  /// SHA-256 of each block of packed bytes, in order; none when there are members.
  package let blocks: [Digest]
  /// The entries inside, by the bytes of their paths.
  package let files: [IndexedFile]

  /// Creates the index of a package that is read block by block.
  package init(
    packageLength: Int64, blockLength: Int, blocks: [Digest], files: [IndexedFile],
    obstacle: String? = nil
  ) {
    self.packageLength = packageLength
    self.blockLength = blockLength
    self.blocks = blocks
    self.files = files
    self.obstacle = obstacle
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

  /// Bytes of all files once installed.
  package var installedSize: Int64 { files.reduce(0) { $0 + $1.size } }

  /// The byte range of block `number`.
  package func range(ofBlock number: Int) -> Range<Int64> {
    let start = Int64(number) * Int64(blockLength)
    return start..<min(start + Int64(blockLength), packageLength)
  }

  /// Whether the numbers agree with each other, so that they can be computed with.
  package var isConsistent: Bool {
    guard (0...(1 << 40)).contains(packageLength), hasPlausibleFiles else { return false }
    if let payload { return payload.isConsistent(with: files, packageLength: packageLength) }
    return (4096...(64 << 20)).contains(blockLength)
      && Int64(blocks.count) == (packageLength + Int64(blockLength) - 1) / Int64(blockLength)
  }

  private var hasPlausibleFiles: Bool {
    var total: Int64 = 0
    for file in files {
      guard (0...(1 << 40)).contains(file.size), file.kind == .file || file.size == 0 else {
        return false
      }
      total += file.size
      if total > 1 << 40 { return false }
    }
    return true
  }
}

/// A file, folder or link inside a package.
package struct IndexedFile: Hashable, Codable, Sendable {
  /// The path below the content's root, with `/`, such as `Contents/page-1.txt`.
  package let path: String
  /// What it is.
  package let kind: Kind
  /// Bytes; 0 for folders and links.
  package let size: Int64
  /// SHA-256 of a regular file's bytes; nil for others.
  package let digest: Digest?
  /// A symbolic link's target; nil for others.
  package let target: String?

  /// What an entry of a package can be; everything else is refused.
  package enum Kind: String, Codable, Sendable {
    case file, directory, link
  }

  /// Creates an entry.
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
