public import FoundationEssentials

/// A version of a content package in a library.
public struct InstalledContent: Hashable, Codable, Sendable {
  /// The content's name, and its folder's below `products`.
  public let contentIdentifier: ProductIdentifier
  /// The product that it belongs to.
  public let productIdentifier: ProductIdentifier
  /// Its version, and its folder's name.
  public let version: ContentVersion
  /// Bytes of all files.
  public let size: Int64
  /// How many entries it has: files, folders and links.
  public let entryCount: Int
  /// When it was installed.
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

/// An installed file and the identity by which a change is noticed without reading it.
package struct InstalledFile: Hashable, Codable, Sendable {
  /// What it is and what its bytes must be.
  package let entry: IndexedFile
  /// Its identity when it was written; nil for folders and links.
  package let identity: FileIdentity?

  /// Creates a record.
  package init(entry: IndexedFile, identity: FileIdentity?) {
    self.entry = entry
    self.identity = identity
  }
}

/// What the file system says of a file that was not touched: the same numbers.
package struct FileIdentity: Hashable, Codable, Sendable {
  /// The inode's number.
  package let inode: UInt64
  /// Bytes.
  package let size: Int64
  /// Last change of the bytes, in nanoseconds since 1970.
  package let modified: Int64
  /// Last change of the inode, in nanoseconds since 1970.
  package let changed: Int64

  /// Creates an identity.
  package init(inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }
}

/// The name of a version of a content.
public struct ContentKey: Hashable, Codable, Sendable {
  /// The content's name.
  public let contentIdentifier: ProductIdentifier
  /// Its version.
  public let version: ContentVersion

  /// Creates a key.
  public init(_ contentIdentifier: ProductIdentifier, _ version: ContentVersion) {
    self.contentIdentifier = contentIdentifier
    self.version = version
  }
}

/// The durable record of what a library holds; kept by the journal.
///
/// An install is announced before its folder appears and confirmed after `current` names it, so
/// that a start after a crash can tell which of the two happened. All methods may be called from
/// any thread, are durable when they return, and throw `journalFailed` or `diskFull`.
package protocol InstallJournal: Sendable {
  /// Records that `content` is about to appear in its folder, with these files.
  ///
  /// `signers` is who vouches for the files' digests; nil when the files were compared with them.
  func announce(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws
  /// Records that `content` is in its folder with these files, where it was before with others.
  func replace(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws
  /// Records that `content` is complete and `current` was decided.
  func confirm(_ content: ProductIdentifier, _ version: ContentVersion) throws
  /// Forgets an announced or installed version, and its pin.
  func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws
  /// Announced installs that were never confirmed and whose records can be read.
  func announced() throws -> [InstalledContent]
  /// Confirmed versions whose records can be read, by content and version.
  func installed() throws -> [InstalledContent]
  /// Why other records of contents cannot be read; each error names its content.
  func unreadableContents() throws -> [ContentError]
  /// Confirmed versions of one content, by version.
  func installed(_ content: ProductIdentifier) throws -> [InstalledContent]
  /// Who vouches for the digests of a version's files; nil when the files were compared with them.
  func signers(of content: ProductIdentifier, _ version: ContentVersion) throws -> Digest?
  /// Versions that are never collected.
  func pins() throws -> Set<ContentKey>
  /// Pins a version, or takes its pin away.
  func setPin(_ pinned: Bool, on key: ContentKey) throws
  /// The files of an announced or installed version, by the bytes of their paths.
  func files(of content: ProductIdentifier, _ version: ContentVersion) throws -> [InstalledFile]
}

extension InstallJournal {
  /// Every record can be read.
  package func unreadableContents() throws -> [ContentError] { [] }
}
