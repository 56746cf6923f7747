import HostedJournal
import HostedLibrary
public import HostedModel
package import HostedFileIO
public import FoundationEssentials

/// Reads a library without locking it, even while a queue uses it.
///
/// Only the owner can read the journal, because it contains receipts and account names. For other
/// users, installed contents are read from the versions' folders. Calls that need transactions,
/// pins or the digests of files, such as verification, then throw `notPermitted`.
///
/// Thread-safe. Calls block; in a task, use them in `performBlocking`.
public struct LibraryReader: Sendable {
  let library: ContentLibrary
  /// The journal; an error if the user cannot read it.
  private let queue: Result<SQLiteJournal, ContentError>

  /// Opens the library; throws `fileMissing` if it does not exist, and journal errors.
  public init(_ location: URL) throws { try self.init(location, fileSystem: .real) }

  /// Opens the library; a test can run code between two steps with `fileSystem`.
  package init(_ location: URL, fileSystem: FileSystem) throws {
    let path = try location.filePath(of: "library")
    do {
      let folder = try LibraryFolder(reading: path, fileSystem: fileSystem)
      do {
        let journal = try SQLiteJournal(in: folder.root, readOnly: true)
        queue = .success(journal)
        library = ContentLibrary(folder, journal: journal)
      } catch let error as ContentError where error.code == .notPermitted {
        let path = folder.root.path
        let refusal = ContentError(
          .notPermitted,
          "Only the owner of the library \(path) can read its queue, pins and digests",
          remedy: "Run this as the user who owns the library", subject: path,
          cause: error.cause ?? error.message)
        queue = .failure(refusal)
        library = ContentLibrary(folder, refusal: refusal)
      }
    } catch let error as ContentError where error.code == .fileMissing {
      throw ContentError.noLibrary(at: path, error)
    }
  }

  /// An installed version, and whether `current` names it.
  public struct Entry: Hashable, Sendable, CustomStringConvertible {
    /// The installed content.
    public let content: InstalledContent
    /// Whether it is the current version.
    public let isCurrent: Bool
    package let path: String
    /// The version's folder, with ContentInfo.plist and Contents.
    public var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

    /// The content, its version and its size, and whether it is current.
    public var description: String { "\(content)\(isCurrent ? ", current" : "")" }
  }

  /// Returns all installed versions, sorted by content and version.
  public func contents() throws -> [Entry] { try library.list().map(entry) }

  /// Returns all installed versions like `contents`, and whether files of each are missing, or have
  /// another kind or size; nil if unknown.
  package func checkedContents() throws -> [(entry: Entry, lacksFiles: Bool?)] {
    try library.list(checksFiles: true).map { (entry($0), $0.lacksFiles) }
  }

  private func entry(_ listed: ListedContent) -> Entry {
    let content = listed.content
    return Entry(
      content: content, isCurrent: listed.isCurrent,
      path: library.path(of: content.contentIdentifier, content.version))
  }

  /// Returns the paths of files that are missing or have another kind or size.
  ///
  /// An empty path stands for the version's folder. Reads no file, so it is much faster than
  /// verification. An app may have moved files out of the folder: a repair or a download of this
  /// version fetches them again. Throws `notPermitted` if the user cannot read the journal, and
  /// `notInstalled` if the version is removed meanwhile.
  public func missingFiles(of content: InstalledContent) throws -> [String] {
    try library.missingFiles(of: content).map { $0.path ?? "" }
  }

  /// Returns the updates that `products` offer for the installed contents.
  public func updates(of products: [Product]) throws -> [ContentUpdate] {
    try library.comparison(with: products).updates
  }

  package func transactions() throws -> [TransactionRecord] { try queue.get().transactions() }

  /// Returns an error for each unreadable record of the journal; no other list contains it.
  ///
  /// Returns an empty array if the user cannot read the journal.
  public func unreadableRecords() throws -> [ContentError] {
    guard case .success(let journal) = queue else { return [] }
    return try journal.readQueue().unreadable + journal.unreadableContents()
  }

  package func finishedTransactions() throws -> [FinishedTransaction] {
    try queue.get().finishedTransactions()
  }

  /// Compares every byte of an installed version with its digests; returns the differences.
  ///
  /// Throws `notInstalled` if the version is removed meanwhile.
  package func verify(_ content: InstalledContent, pace: ReadThrottle? = nil) throws
    -> [Finding]
  {
    try library.verify(content, pace: pace)
  }
}
