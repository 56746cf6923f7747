package import ContentModel
package import FileIO
import FoundationEssentials
import Locks

/// The durable record of a library's queue and contents, in one SQLite database.
///
/// Write-ahead log with full synchronisation: what a call has written survives a power failure
/// once the call returns. May be used from any thread; calls are serialised, and writes that wait at
/// the same time share a commit.
package final class SQLiteJournal: Sendable {
  /// The database's name in a library's folder.
  package static let fileName = "journal.sqlite"

  /// What one call writes; called again, alone, when those that it shares a commit with fail.
  typealias Write = @Sendable (borrowing SQLiteConnection) throws -> Void

  private let writer: Connection
  /// Another connection, so that nobody who only looks waits for a commit; the same one when nothing
  /// is written.
  private let reader: Connection
  private let commits = SharedStep<Write>()
  /// Offers that have a row, by what they say; only what is committed.
  let offerRows = Mutex<[ContentOffer: Int64]>([:])
  private let folder: Directory
  private let path: String

  private var fileSystem: FileSystem { folder.fileSystem }

  private final class Connection: Sendable {
    let use: Mutex<SQLiteConnection>

    init(_ opened: consuming sending SQLiteConnection) { use = Mutex(opened) }
  }

  /// Opens the journal in `folder`: creates or migrates it, or only reads it.
  package init(in folder: Directory, readOnly: Bool = false) throws {
    let path = folder.path(of: Self.fileName)
    try folder.fileSystem.check(readOnly ? .read : .journal, path)
    self.folder = folder
    self.path = path
    guard !readOnly else {
      reader = Connection(try Self.openToRead(path, in: folder))
      writer = reader
      return
    }
    (writer, reader) = try Self.explainingSpace(in: folder) {
      let writer = Connection(try Self.openToWrite(path, in: folder))
      let opened = try SQLiteConnection(path: path, .write)
      // Whichever is closed last leaves the files there.
      try opened.keepLogFiles()
      return (writer, Connection(opened))
    }
    folder.fileSystem.didCommit?(path)
  }

  private static func openToWrite(_ path: String, in folder: Directory) throws -> SQLiteConnection {
    // Looked at without a right to write, so that a newer one stays as it is to the last byte. One that
    // was cut off while it was made only a writer can read: it goes back to nothing.
    if try folder.status(of: fileName) != nil, try !isHalfMade(in: folder) {
      try JournalSchema.refuseUnknown(SQLiteConnection(path: path, .read), path: path)
    }
    try makePrivate(in: folder)
    let opened = try SQLiteConnection(path: path, .write)
    try opened.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    try opened.keepLogFiles()
    try JournalSchema.migrate(opened, path: path)
    // Here, because looking for them at every finished transaction would cost more.
    try opened.execute(
      "DELETE FROM queue_offer WHERE id NOT IN (SELECT DISTINCT offer FROM queue_download)")
    return opened
  }

  /// Takes the journal's files from other users: they have receipts and names of accounts, and whoever can
  /// open them can lock them.
  private static func makePrivate(in folder: Directory) throws {
    for suffix in ["", "-journal", "-wal", "-shm"] { try folder.makePrivate(fileName + suffix) }
    // SQLite gives the files beside a database its mode.
    if try folder.status(of: fileName) == nil { _ = try folder.createFile(fileName, mode: 0o600) }
  }

  /// Whether a process ended while it made the database: later changes have no rollback journal, but a
  /// write-ahead log.
  private static func isHalfMade(in folder: Directory) throws -> Bool {
    try folder.status(of: "\(fileName)-journal") != nil
  }

  private static func openToRead(_ path: String, in folder: Directory) throws -> SQLiteConnection {
    do {
      let opened = try SQLiteConnection(path: path, .read)
      try JournalSchema.check(opened, path: path)
      return opened
    } catch let error as ContentError
      where error.code == .journalFailed || error.code == .notPermitted
    {
      // A copy without its log, where none can be made: all is in the one file.
      guard try folder.status(of: fileName) != nil, try folder.status(of: "\(fileName)-wal") == nil
      else { throw error }
      let opened = try SQLiteConnection(path: path, .readUnchanging)
      try JournalSchema.check(opened, path: path)
      return opened
    }
  }

  /// Returns once what `body` writes is durable.
  func write(_ body: @escaping Write) throws {
    try fileSystem.check(.journal, path)
    try Self.explainingSpace(in: folder) {
      try commits.join(body) { writes in writer.use.withLock { Self.commit(writes, to: $0) } }
    }
    fileSystem.didCommit?(path)
  }

  /// Calls `body`; an error for want of room says how much is there.
  static func explainingSpace<Value>(
    in folder: Directory, _ body: () throws -> Value
  ) throws -> Value {
    do {
      return try body()
    } catch let error as ContentError where error.code == .diskFull {
      guard let free = try? folder.availableBytes() else { throw error }
      // A page and its head in the log is the least; how many there are only SQLite knows.
      throw ContentError(
        .diskFull, "\(error.message): it needs at least 8192 bytes more, where \(free) are free",
        remedy: error.remedy, subject: error.subject, cause: error.cause)
    }
  }

  private static func commit(_ writes: [Write], to connection: borrowing SQLiteConnection)
    -> [Result<Void, any Error>]
  {
    if writes.count > 1 {
      do {
        try connection.transaction { connection in
          for write in writes { try write(connection) }
        }
        return writes.map { _ in .success(()) }
      } catch {
        // Each alone then, so that one that cannot be written costs no other one.
      }
    }
    return writes.map { write in Result { try connection.transaction(write) } }
  }

  func read<Value>(_ body: (borrowing SQLiteConnection) throws -> Value) throws -> Value {
    try fileSystem.check(.read, path)
    return try reader.use.withLock { try body($0) }
  }
}

extension SQLiteJournal: InstallJournal {
  package func announce(
    _ content: InstalledContent, files: [InstalledFile], signers: Digest?
  ) throws {
    try write(content, files, signers, isConfirmed: false)
  }

  package func replace(
    _ content: InstalledContent, files: [InstalledFile], signers: Digest?
  ) throws {
    try write(content, files, signers, isConfirmed: true)
  }

  private func write(
    _ content: InstalledContent, _ files: [InstalledFile], _ signers: Digest?, isConfirmed: Bool
  ) throws {
    let list = InstalledFile.encoded(files)
    try write { connection in
      try Self.delete(content.contentIdentifier, content.version, connection)
      var id: Int64 = 0
      try connection.query(
        "INSERT INTO content "
          + "(content, version, product, size, entry_count, installed_at, is_confirmed, signers) "
          + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id",
        [
          .text(content.contentIdentifier.rawValue), .text(content.version.rawValue),
          .text(content.productIdentifier.rawValue), .integer(content.size),
          .integer(Int64(content.entryCount)), .real(content.date.timeIntervalSince1970),
          .integer(isConfirmed ? 1 : 0), signers.map { .blob($0.bytes) } ?? .null,
        ]
      ) { id = $0.integer(0) }
      try connection.run(
        "INSERT INTO content_files VALUES (?1, ?2)", [.integer(id), .blob(list)])
    }
  }

  package func confirm(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write {
      try $0.run(
        "UPDATE content SET is_confirmed = 1 WHERE content = ?1 AND version = ?2",
        [.text(content.rawValue), .text(version.rawValue)])
    }
  }

  package func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write { connection in
      try Self.delete(content, version, connection)
      try Self.unpin(ContentKey(content, version), connection)
    }
  }

  private static func delete(
    _ content: ProductIdentifier, _ version: ContentVersion,
    _ connection: borrowing SQLiteConnection
  ) throws {
    try connection.run(
      "DELETE FROM content WHERE content = ?1 AND version = ?2",
      [.text(content.rawValue), .text(version.rawValue)])
  }

  package func announced() throws -> [InstalledContent] { try contents(confirmed: false) }

  package func installed() throws -> [InstalledContent] { try contents(confirmed: true) }

  package func installed(_ content: ProductIdentifier) throws -> [InstalledContent] {
    try contents(confirmed: true, of: content)
  }

  private func contents(confirmed: Bool, of content: ProductIdentifier? = nil) throws
    -> [InstalledContent]
  {
    try read { connection in
      var found: [InstalledContent] = []
      try connection.query(
        "SELECT content, product, version, size, entry_count, installed_at FROM content "
          + "WHERE is_confirmed = ?1\(content == nil ? "" : " AND content = ?2")",
        [.integer(confirmed ? 1 : 0)] + (content.map { [.text($0.rawValue)] } ?? [])
      ) { row in
        found.append(
          InstalledContent(
            contentIdentifier: try row.identifier(0), productIdentifier: try row.identifier(1),
            version: try row.version(2), size: row.integer(3),
            entryCount: Int(row.integer(4)), date: Date(timeIntervalSince1970: row.real(5))))
      }
      return found.sorted {
        ($0.contentIdentifier, $0.version) < ($1.contentIdentifier, $1.version)
      }
    }
  }

  package func signers(of content: ProductIdentifier, _ version: ContentVersion) throws -> Digest? {
    try read { connection in
      var signers: Digest?
      try connection.query(
        "SELECT signers FROM content WHERE content = ?1 AND version = ?2",
        [.text(content.rawValue), .text(version.rawValue)]
      ) { signers = Digest(bytes: $0.blob(0)) }
      return signers
    }
  }

  package func pins() throws -> Set<ContentKey> { try read(Self.pins) }

  private static func pins(_ connection: borrowing SQLiteConnection) throws -> Set<ContentKey> {
    var pins: Set<ContentKey> = []
    try connection.query("SELECT content, version FROM pin") { row in
      pins.insert(ContentKey(try row.identifier(0), try row.version(1)))
    }
    return pins
  }

  package func setPin(_ pinned: Bool, on key: ContentKey) throws {
    try write { connection in
      // One pin a version, however it is written.
      try Self.unpin(key, connection)
      guard pinned else { return }
      try connection.run("INSERT INTO pin VALUES (?1, ?2)", Self.values(of: key))
    }
  }

  /// 1.0 and 1.0.0 are one version, which SQL cannot tell.
  private static func unpin(_ key: ContentKey, _ connection: borrowing SQLiteConnection) throws {
    for pin in try pins(connection) where pin == key {
      try connection.run("DELETE FROM pin WHERE content = ?1 AND version = ?2", values(of: pin))
    }
  }

  private static func values(of key: ContentKey) -> [SQLiteConnection.Value] {
    [.text(key.contentIdentifier.rawValue), .text(key.version.rawValue)]
  }

  package func files(of content: ProductIdentifier, _ version: ContentVersion) throws
    -> [InstalledFile]
  {
    try read { connection in
      var files: [InstalledFile] = []
      try connection.query(
        "SELECT files FROM content_files JOIN content c ON c.id = content_id "
          + "WHERE content = ?1 AND version = ?2",
        [.text(content.rawValue), .text(version.rawValue)]
      ) { row in
        guard let found = InstalledFile.decoded(row.blob(0)) else {
          throw ContentError(
            .journalFailed, "The journal's record of the files of \(content) cannot be read",
            remedy: "Mend it with hostedcontent repair", subject: content.rawValue)
        }
        files = found
      }
      return files
    }
  }
}
