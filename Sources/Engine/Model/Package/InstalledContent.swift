public import FoundationEssentials

/// An installed version of a content package.
public struct InstalledContent: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The content's identifier, and the name of its folder in `products`.
  public let contentIdentifier: ProductIdentifier
  /// The product that the content belongs to.
  public let productIdentifier: ProductIdentifier
  /// The version, and the name of its folder.
  public let version: ContentVersion
  /// The size of all files in bytes.
  public let size: Int64
  /// The number of files, folders and links.
  public let entryCount: Int
  /// The date of the install.
  public let date: Date

  /// Creates a record.
  public init(
    contentIdentifier: ProductIdentifier, productIdentifier: ProductIdentifier,
    version: ContentVersion, size: Int64, entryCount: Int, date: Date
  ) {
    self.contentIdentifier = contentIdentifier
    self.productIdentifier = productIdentifier
    self.version = version
    self.size = size
    self.entryCount = entryCount
    self.date = date
  }

  /// The content, its version and its size.
  public var description: String { "\(contentIdentifier) \(version) (\(size) bytes)" }
}

/// A content and one of its versions.
public struct ContentKey: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The content's identifier.
  public let contentIdentifier: ProductIdentifier
  /// The version.
  public let version: ContentVersion

  /// Creates a key.
  public init(_ contentIdentifier: ProductIdentifier, version: ContentVersion) {
    self.contentIdentifier = contentIdentifier
    self.version = version
  }

  /// The content and its version, such as `com.example.book 1.0`.
  public var description: String { "\(contentIdentifier) \(version)" }
}

/// An installed file, and its identity for detecting changes without reading it.
package struct InstalledFile: Hashable, Codable, Sendable {
  package let entry: IndexedFile
  /// The identity when it was written; nil for folders and links.
  package let identity: FileIdentity?

  package init(entry: IndexedFile, identity: FileIdentity?) {
    self.entry = entry
    self.identity = identity
  }

  private static let format: UInt8 = 1

  /// Encodes a list of files for the journal.
  ///
  /// The bytes are the format number, the entries sorted by the bytes of their paths, then each
  /// file's identity without its size.
  package static func encoded(_ files: [InstalledFile]) -> [UInt8] {
    let isOrdered = zip(files, files.dropFirst()).allSatisfy(Self.isOrdered)
    let ordered = isOrdered ? files : files.sorted(by: Self.isOrdered)
    var writer = CompactWriter()
    writer.append(CollectionOfOne(format))
    writer.files(ordered.map(\.entry))
    for file in ordered {
      writer.number(file.identity == nil ? 0 : 1)
      guard let identity = file.identity else { continue }
      writer.word(identity.inode)
      writer.word(UInt64(bitPattern: identity.modified))
      writer.word(UInt64(bitPattern: identity.changed))
    }
    return writer.bytes
  }

  private static func isOrdered(_ left: Self, _ right: Self) -> Bool {
    left.entry.path.precedesByBytes(right.entry.path)
  }

  /// Decodes the output of `encoded`; nil for other bytes.
  package static func decoded(_ bytes: [UInt8]) -> [InstalledFile]? { try? read(bytes) }

  private static func read(_ bytes: [UInt8]) throws -> [InstalledFile]? {
    var reader = CompactReader(bytes)
    guard try reader.take(1).first == format else { return nil }
    let files = try reader.files().map { entry in
      guard try reader.number() == 1 else { return InstalledFile(entry: entry, identity: nil) }
      let (inode, modified, changed) = (try reader.word(), try reader.word(), try reader.word())
      return InstalledFile(
        entry: entry,
        identity: FileIdentity(
          inode: inode, size: entry.size, modified: Int64(bitPattern: modified),
          changed: Int64(bitPattern: changed)))
    }
    return reader.isAtEnd ? files : nil
  }
}

/// File system attributes that stay the same while a file is unchanged.
package struct FileIdentity: Hashable, Codable, Sendable {
  package let inode: UInt64
  package let size: Int64
  /// The modification time, in nanoseconds since 1970.
  package let modified: Int64
  /// The inode change time, in nanoseconds since 1970.
  package let changed: Int64

  package init(inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }
}
