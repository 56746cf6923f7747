import ContentJournal
package import ContentLibrary
public import ContentModel
package import FileIO
public import FoundationEssentials

/// A library as it is, read without a lock, also while a queue works on it.
///
/// The journal is for its owner only, because it has receipts and names of accounts. For other
/// users what is installed is read from the folders of the versions; transactions, pins and the
/// digests of files, which verification needs, then throw `notPermitted`.
public struct LibraryReader: Sendable {
  let library: ContentLibrary
  /// The transactions; fails for a user who may not read the journal.
  private let queue: Result<SQLiteJournal, ContentError>

  /// Opens the library; throws `fileMissing` when there is none, and journal errors.
  public init(_ location: URL) throws { try self.init(location, fileSystem: .real) }

  /// As above; `fileSystem` lets a test act between two steps.
  package init(_ location: URL, fileSystem: FileSystem) throws {
    let path = try location.filePath(of: "library")
    do {
      let folder = try LibraryFolder(reading: path, fileSystem: fileSystem)
      do {
        let journal = try SQLiteJournal(in: folder.root, readOnly: true)
        queue = .success(journal)
        library = ContentLibrary(folder, journal: journal)
      } catch let error as ContentError where error.code == .notPermitted {
        queue = .failure(.notOwner(of: path, error))
        library = ContentLibrary(folder, journal: InstalledTree(folder, cause: error))
      }
    } catch let error as ContentError where error.code == .fileMissing {
      throw ContentError.noLibrary(at: path, error)
    }
  }

  /// An installed version, and whether `current` names it.
  public struct Entry: Hashable, Sendable {
    /// What is installed.
    public let content: InstalledContent
    /// Whether it is the version in use.
    public let isCurrent: Bool
    /// The version's folder, with ContentInfo.plist and Contents.
    public let url: URL
  }

  /// All installed versions, by content and version.
  public func contents() throws -> [Entry] {
    try library.list().map { content, isCurrent in
      Entry(
        content: content, isCurrent: isCurrent,
        url: URL(
          filePath: library.path(of: content.contentIdentifier, content.version),
          directoryHint: .isDirectory))
    }
  }

  /// The paths of recorded files that are missing, or have another kind or size; an empty one for
  /// the folder.
  ///
  /// Reads no file, so it takes much less time than `verify`. An app may have moved files out of
  /// the folder: a repair or a download of this version fetches them. Throws `notPermitted` for a
  /// user who may not read the journal, and `notInstalled` if the version is removed meanwhile.
  public func missingFiles(of content: InstalledContent) throws -> [String] {
    try library.missingFiles(of: content).map(\.path)
  }

  /// The updates that `products` offer for what is installed.
  public func updates(of products: [Product]) throws -> [ContentUpdate] {
    UpdateComparison(
      of: products.map(ProductContents.init), installed: try library.journal.installed(),
      current: try library.currentVersions()
    ).updates
  }

  /// Unfinished transactions as the journal has them, in their order.
  package func transactions() throws -> [TransactionRecord] {
    try queue.get().transactions()
  }

  /// Why records of the journal cannot be read; what they describe is in no other list.
  ///
  /// Empty for a user who may not read the journal.
  public func unreadableRecords() throws -> [ContentError] {
    guard case .success(let journal) = queue else { return [] }
    return try journal.readQueue().unreadable + journal.unreadableContents()
  }

  /// What is remembered of transactions that were finished.
  package func finishedTransactions() throws -> [FinishedTransaction] {
    try queue.get().finishedTransactions()
  }

  /// Compares every byte of an installed version with what was installed; empty when all is well.
  ///
  /// `bytesPerSecond` holds the reading back; nil reads as fast as it can. Throws `notInstalled` if
  /// the version is removed meanwhile.
  package func verify(_ content: InstalledContent, bytesPerSecond: Int64? = nil) throws
    -> [ContentDamage]
  {
    try verify(content, pace: bytesPerSecond.map { ReadThrottle(bytesPerSecond: $0) })
  }

  /// As above, with a pace whose clock a test may hold.
  package func verify(_ content: InstalledContent, pace: ReadThrottle?) throws -> [ContentDamage] {
    try library.verify(content, pace: pace)
  }
}

extension ContentError {
  static func noLibrary(at path: String, _ error: ContentError) -> ContentError {
    ContentError(
      .fileMissing, "There is no library at \(path)",
      remedy: "Check the path; hostedcontent get makes a library", subject: path,
      cause: error.cause)
  }
}
