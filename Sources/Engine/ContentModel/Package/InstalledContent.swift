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

  /// Creates a record.
  package init(entry: IndexedFile, identity: FileIdentity?) {
    self.entry = entry
    self.identity = identity
  }
}

/// File system attributes that stay the same while a file is unchanged.
package struct FileIdentity: Hashable, Codable, Sendable {
  /// The inode number.
  package let inode: UInt64
  /// The size in bytes.
  package let size: Int64
  /// The modification time, in nanoseconds since 1970.
  package let modified: Int64
  /// The inode change time, in nanoseconds since 1970.
  package let changed: Int64

  /// Creates an identity.
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

/// The durable record of installed contents; implemented by the journal.
///
/// An install is announced before its folder appears, and confirmed after `current` is switched, so
/// that recovery can tell these states apart. All methods may be called from any thread, are
/// durable when they return, and throw `journalFailed` or `diskFull`.
package protocol InstallJournal: Sendable {
  /// Records that the folder of `content` is about to appear, with these files.
  ///
  /// `signers` identifies the signers of the files' digests; nil if the files were compared with
  /// the digests.
  func announce(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws
  /// Records that the folder of `content` now has these files instead of earlier ones.
  func replace(_ content: InstalledContent, files: [InstalledFile], signers: Digest?) throws
  /// Records that `content` is complete and that `current` was decided.
  func confirm(_ content: ProductIdentifier, _ version: ContentVersion) throws
  /// Removes an announced or installed version, and its pin.
  func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws
  /// Returns announced but unconfirmed installs whose records can be read.
  func announced() throws -> [InstalledContent]
  /// Returns confirmed versions whose records can be read, by content and version.
  func installed() throws -> [InstalledContent]
  /// Returns an error for each unreadable record, with its content as subject.
  func unreadableContents() throws -> [ContentError]
  /// Returns the confirmed versions of one content, by version.
  func installed(_ content: ProductIdentifier) throws -> [InstalledContent]
  /// Returns the signers of a version's digests; nil if the files were compared with them.
  func signers(of content: ProductIdentifier, _ version: ContentVersion) throws -> Digest?
  /// Returns the pinned versions, which are never collected.
  func pins() throws -> Set<ContentKey>
  /// Pins or unpins a version.
  func setPin(_ pinned: Bool, on key: ContentKey) throws
  /// Returns the files of an announced or installed version, by the bytes of their paths.
  func files(of content: ProductIdentifier, _ version: ContentVersion) throws -> [InstalledFile]
  /// Returns the files of each of `contents`, in one read.
  ///
  /// Nil for a version that is left out: `files(of:_:)` returns its files or the error.
  func files(of contents: ArraySlice<InstalledContent>) throws -> [[InstalledFile]?]
}

extension InstallJournal {
  /// Leaves out all versions.
  package func files(of contents: ArraySlice<InstalledContent>) throws -> [[InstalledFile]?] {
    contents.map { _ in nil }
  }

  /// Returns no errors.
  package func unreadableContents() throws -> [ContentError] { [] }
}
