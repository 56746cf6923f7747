public import FoundationEssentials

/// An installed version of a content package.
public struct InstalledContent: Hashable, Codable, Sendable {
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
}

/// An installed file, and its identity for detecting changes without reading it.
package struct InstalledFile: Hashable, Codable, Sendable {
  /// The path, kind and digest of the file.
  package let entry: IndexedFile
  /// The identity when it was written; nil for folders and links.
  package let identity: FileIdentity?

  package init(entry: IndexedFile, identity: FileIdentity?) {
    self.entry = entry
    self.identity = identity
  }
}

/// File system attributes that stay the same while a file is unchanged.
package struct FileIdentity: Hashable, Codable, Sendable {
  package let inode: UInt64
  /// The size in bytes.
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

/// A content and one of its versions.
public struct ContentKey: Hashable, Codable, Sendable {
  /// The content's identifier.
  public let contentIdentifier: ProductIdentifier
  /// The version.
  public let version: ContentVersion

  /// Creates a key.
  public init(_ contentIdentifier: ProductIdentifier, version: ContentVersion) {
    self.contentIdentifier = contentIdentifier
    self.version = version
  }
}
