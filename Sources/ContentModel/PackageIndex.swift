/// What a package consists of: digests of its bytes, piece by piece, and the files inside.
///
/// It is derived at publishing and signed with the catalogue, so that each piece can be
/// authenticated alone, before anything parses it. Written as JSON with sorted keys.
public struct PackageIndex: Hashable, Codable, Sendable {
  /// The number of this format; readers refuse any other.
  public static let currentFormat = 1
  /// An index may not be longer, in bytes; a reader refuses it before parsing.
  public static let maximumLength: Int64 = 64 << 20

  /// The format's number.
  public let format: Int
  /// Bytes of the package.
  public let packageLength: Int64
  /// Bytes of each block but the last, which may be shorter.
  public let blockLength: Int
  /// SHA-256 of each block of packed bytes, in order.
  public let blocks: [Digest]
  /// The files inside, by path.
  public let files: [IndexedFile]

  /// Creates an index of the current format.
  public init(packageLength: Int64, blockLength: Int, blocks: [Digest], files: [IndexedFile]) {
    format = Self.currentFormat
    self.packageLength = packageLength
    self.blockLength = blockLength
    self.blocks = blocks
    self.files = files
  }

  /// Bytes of all files once installed.
  public var installedSize: Int64 { files.reduce(0) { $0 + $1.size } }

  /// The byte range of block `number`.
  public func range(ofBlock number: Int) -> Range<Int64> {
    let start = Int64(number) * Int64(blockLength)
    return start..<min(start + Int64(blockLength), packageLength)
  }

  /// Whether the numbers agree with each other, so that they can be computed with.
  public var isConsistent: Bool {
    format == Self.currentFormat && (4096...(64 << 20)).contains(blockLength) && packageLength >= 0
      && packageLength <= 1 << 40
      && Int64(blocks.count) == (packageLength + Int64(blockLength) - 1) / Int64(blockLength)
      && files.allSatisfy { (0...(1 << 40)).contains($0.size) }
  }
}

/// A file, folder or link inside a package.
public struct IndexedFile: Hashable, Codable, Sendable {
  /// The path below the content's root, with `/`, such as `Contents/page-1.txt`.
  public let path: String
  /// What it is.
  public let kind: Kind
  /// Bytes; 0 for folders and links.
  public let size: Int64
  /// SHA-256 of a regular file's bytes; nil for others.
  public let digest: Digest?
  /// A symbolic link's target; nil for others.
  public let target: String?

  /// What an entry of a package can be; everything else is refused.
  public enum Kind: String, Codable, Sendable {
    case file, directory, link
  }

  /// Creates an entry.
  public init(
    path: String, kind: Kind, size: Int64 = 0, digest: Digest? = nil, target: String? = nil
  ) {
    self.path = path
    self.kind = kind
    self.size = size
    self.digest = digest
    self.target = target
  }
}
