import HostedDatabase
import HostedModel
package import HostedFileIO
import FoundationEssentials
import HostedConcurrency

/// The durable record of a library's queue and contents, in one SQLite database.
///
/// It uses a write-ahead log with full synchronization: after a call returns, its writes survive a
/// power failure. Thread-safe; calls are serialized, and writes that wait at the same time share a
/// commit.
package final class SQLiteJournal: Sendable {
  /// The database's file name in a library's folder.
  package static let fileName = "journal.sqlite"

  /// A write of one call.
  struct Write: Sendable {
    /// If a shared commit fails, the body is called again, in a commit of its own.
    let body: @Sendable (borrowing SQLiteConnection) throws -> Void
    /// Whether it may use the reserve; for small changes that a full disk must not prevent.
    let usesReserve: Bool
  }

  private let writer: Serialized<SQLiteConnection>
  /// Another connection, so that reads do not wait for a commit; the same one if it is read-only.
  private let reader: Serialized<SQLiteConnection>
  private let commits = GroupCommit<Write>()
  /// The rows of offers; contains only committed ones.
  let offerRows = Mutex<[ContentOffer: Int64]>([:])
  private let folder: Directory
  private let path: String
  private let reserve: SpaceReserve

  private var fileSystem: FileSystem { folder.fileSystem }

  /// Opens the journal in `folder`; creates or migrates it unless `readOnly`.
  package init(in folder: Directory, readOnly: Bool = false) throws {
    let path = folder.path(of: Self.fileName)
    try folder.fileSystem.check(readOnly ? .read : .journal, path)
    self.folder = folder
    self.path = path
    reserve = SpaceReserve(in: folder)
    guard !readOnly else {
      reader = Serialized(try Self.openToRead(path, in: folder))
      writer = reader
      return
    }
    (writer, reader) = try folder.explainingSpace {
      do {
        return try Self.open(path, in: folder)
      } catch let error as ContentError where error.code == .diskFull {
        // SQLite creates the index of the log again at each start, which needs space.
        guard SpaceReserve(in: folder).release() else { throw error }
        return try Self.open(path, in: folder)
      }
    }
    try folder.syncLog(ofDatabase: Self.fileName)
    folder.fileSystem.didCommit?(path)
    reserve.fill()
  }

  private static func open(_ path: String, in folder: Directory) throws
    -> (writer: Serialized<SQLiteConnection>, reader: Serialized<SQLiteConnection>)
  {
    let writer = Serialized(try openToWrite(path, in: folder))
    let opened = try SQLiteConnection(path: path, .write)
    // The connection that is closed last leaves the files there.
    try opened.keepLogFiles()
    return (writer, Serialized(opened))
  }

  private static func openToWrite(_ path: String, in folder: Directory) throws -> SQLiteConnection {
    // Checked with a read-only connection, so that a newer journal is not changed. Only the
    // creation uses a rollback journal. If it was interrupted, only a writer can read the database;
    // SQLite rolls it back to empty.
    if try folder.status(of: fileName) != nil, try folder.status(of: "\(fileName)-journal") == nil {
      try JournalSchema.current.refuseUnknown(SQLiteConnection(path: path, .read), path: path)
    }
    try makePrivate(in: folder)
    let opened = try SQLiteConnection(path: path, .write)
    try opened.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    try opened.keepLogFiles()
    try JournalSchema.current.migrate(opened, path: path)
    // Removing them for each finished transaction would cost more. A full disk is not an error
    // here.
    try? opened.execute(
      "DELETE FROM queue_offer WHERE id NOT IN (SELECT DISTINCT offer FROM queue_download)")
    return opened
  }

  /// Removes the permissions of other users on the journal's files.
  ///
  /// The files contain receipts and account names, and a user who can open them can lock them.
  private static func makePrivate(in folder: Directory) throws {
    try folder.makePrivate(database: fileName)
    // SQLite gives the files beside a database the same mode.
    if try folder.status(of: fileName) == nil { _ = try folder.createFile(fileName, mode: 0o600) }
    try folder.createMappedFile("\(fileName)-shm")
  }

  private static func openToRead(_ path: String, in folder: Directory) throws -> SQLiteConnection {
    do {
      let opened = try SQLiteConnection(path: path, .read)
      try JournalSchema.current.check(opened, path: path)
      return opened
    } catch let error as ContentError
      where error.code == .journalFailed || error.code == .notPermitted
    {
      // A copy without a log, in a read-only place. Everything is in the one file.
      guard try folder.status(of: fileName) != nil, try folder.status(of: "\(fileName)-wal") == nil
      else { throw error }
      let opened = try SQLiteConnection(path: path, .readUnchanging)
      try JournalSchema.current.check(opened, path: path)
      return opened
    }
  }

  /// Returns after the writes of `body` are durable.
  func write(
    usingReserve: Bool = true,
    _ body: @escaping @Sendable (borrowing SQLiteConnection) throws -> Void
  ) throws {
    do {
      try commit(usingReserve: usingReserve, body)
    } catch let uncertain as UncertainCommit {
      // For installs, it does not matter what a crash leaves: they are announced, confirmed or
      // forgotten again.
      throw uncertain.error
    }
  }

  /// Returns after the writes of `body` are durable.
  ///
  /// Throws `UncertainCommit` if a crash may bring them back.
  func commit(
    usingReserve: Bool = true,
    _ body: @escaping @Sendable (borrowing SQLiteConnection) throws -> Void
  ) throws {
    try fileSystem.check(.journal, path)
    try folder.explainingSpace {
      try commits.join(Write(body: body, usesReserve: usingReserve)) { writes in
        writer.use { commit(writes, to: $0) }
      }
    }
    fileSystem.didCommit?(path)
    // This or another part of the library may have released it.
    reserve.fill()
  }

  private func commit(_ writes: [Write], to connection: borrowing SQLiteConnection)
    -> [Result<Void, any Error>]
  {
    if writes.count > 1 {
      do {
        try connection.transaction { connection in
          for write in writes { try write.body(connection) }
        }
        return writes.map { _ in .success(()) }
      } catch {
        // Then each alone, so that one failing write does not affect the others.
      }
    }
    let results = writes.map { write in Result { try commit(write, to: connection) } }
    guard connection.hasUncertainCommit else { return results }
    // Any of them may be in the log, because the first attempt contained all of them.
    return results.map { result in
      result.mapError { UncertainCommit(ContentError($0, while: "writing the journal")) }
    }
  }

  /// Empties the write-ahead log; otherwise the last connection does it when it is closed.
  package func emptyLog() { writer.use { $0.emptyLog() } }

  private func commit(_ write: Write, to connection: borrowing SQLiteConnection) throws {
    do {
      try connection.transaction(write.body)
    } catch let error as ContentError where error.code == .diskFull {
      do {
        // The log then restarts from the beginning and reuses its space.
        try connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        try connection.transaction(write.body)
      } catch let error as ContentError where error.code == .diskFull {
        guard write.usesReserve, reserve.release() else { throw error }
        try connection.transaction(write.body)
      }
    }
  }

  func read<Value>(_ body: (borrowing SQLiteConnection) throws -> Value) throws -> Value {
    try fileSystem.check(.read, path)
    return try reader.use { try body($0) }
  }
}
