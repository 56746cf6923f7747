import ContentModel
package import FileIO
import FoundationEssentials
import Concurrency

/// The durable record of a library's queue and contents, in one SQLite database.
///
/// Write-ahead log with full synchronization: what a call has written survives a power failure once
/// the call returns. May be used from any thread; calls are serialized, and writes that wait at the
/// same time share a commit.
package final class SQLiteJournal: Sendable {
  /// The database's name in a library's folder.
  package static let fileName = "journal.sqlite"

  /// What one call writes.
  struct Write: Sendable {
    /// Called again, alone, if the commit that it shares with others fails.
    let body: @Sendable (borrowing SQLiteConnection) throws -> Void
    /// Whether it may use the reserve: for changes of a few pages, which a full disk must not stop.
    let usesReserve: Bool
  }

  private let writer: Connection
  /// Another connection, so that nobody who only looks waits for a commit; the same one when
  /// nothing is written.
  private let reader: Connection
  private let commits = GroupCommit<Write>()
  /// Offers that have a row, by what they say; only what is committed.
  let offerRows = Mutex<[ContentOffer: Int64]>([:])
  private let folder: Directory
  private let path: String
  private let reserve: SpaceReserve
  /// False after the reserve was released, until there is space for it again.
  private let isReserveHeld = Atomic(true)

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
    reserve = SpaceReserve(in: folder)
    guard !readOnly else {
      reader = Connection(try Self.openToRead(path, in: folder))
      writer = reader
      return
    }
    (writer, reader) = try Self.explainingSpace(in: folder) {
      do {
        return try Self.open(path, in: folder)
      } catch let error as ContentError where error.code == .diskFull {
        // The index of the log is made anew at each start.
        guard SpaceReserve(in: folder).release() else { throw error }
        return try Self.open(path, in: folder)
      }
    }
    folder.fileSystem.didCommit?(path)
    isReserveHeld.store(reserve.fill(), ordering: .relaxed)
  }

  private static func open(_ path: String, in folder: Directory) throws
    -> (Connection, Connection)
  {
    let writer = Connection(try openToWrite(path, in: folder))
    let opened = try SQLiteConnection(path: path, .write)
    // Whichever is closed last leaves the files there.
    try opened.keepLogFiles()
    return (writer, Connection(opened))
  }

  private static func openToWrite(_ path: String, in folder: Directory) throws -> SQLiteConnection {
    // Looked at without a right to write, so that a newer one stays as it is to the last byte. One
    // that was cut off while it was made only a writer can read: it goes back to nothing.
    if try folder.status(of: fileName) != nil, try !isHalfMade(in: folder) {
      try JournalSchema.current.refuseUnknown(SQLiteConnection(path: path, .read), path: path)
    }
    try makePrivate(in: folder)
    let opened = try SQLiteConnection(path: path, .write)
    try opened.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    try opened.keepLogFiles()
    try JournalSchema.current.migrate(opened, path: path)
    // Looking for them at every finished transaction would cost more. A full disk does not keep it
    // closed.
    try? opened.execute(
      "DELETE FROM queue_offer WHERE id NOT IN (SELECT DISTINCT offer FROM queue_download)")
    return opened
  }

  /// Takes the journal's files from other users: they have receipts and names of accounts, and
  /// whoever can open them can lock them.
  private static func makePrivate(in folder: Directory) throws {
    for suffix in ["", "-journal", "-wal", "-shm"] { try folder.makePrivate(fileName + suffix) }
    // SQLite gives the files beside a database its mode.
    if try folder.status(of: fileName) == nil { _ = try folder.createFile(fileName, mode: 0o600) }
    try folder.createMappedFile("\(fileName)-shm")
  }

  /// Whether a process ended while it made the database: later changes have no rollback journal,
  /// but a write-ahead log.
  private static func isHalfMade(in folder: Directory) throws -> Bool {
    try folder.status(of: "\(fileName)-journal") != nil
  }

  private static func openToRead(_ path: String, in folder: Directory) throws -> SQLiteConnection {
    do {
      let opened = try SQLiteConnection(path: path, .read)
      try JournalSchema.current.check(opened, path: path)
      return opened
    } catch let error as ContentError
      where error.code == .journalFailed || error.code == .notPermitted
    {
      // A copy without its log, where none can be made: all is in the one file.
      guard try folder.status(of: fileName) != nil, try folder.status(of: "\(fileName)-wal") == nil
      else { throw error }
      let opened = try SQLiteConnection(path: path, .readUnchanging)
      try JournalSchema.current.check(opened, path: path)
      return opened
    }
  }

  /// Returns once what `body` writes is durable.
  func write(
    usingReserve: Bool = true,
    _ body: @escaping @Sendable (borrowing SQLiteConnection) throws -> Void
  ) throws {
    do {
      try commit(usingReserve: usingReserve, body)
    } catch let uncertain as UncertainCommit {
      // An install is announced, confirmed or forgotten again; it does not matter what a crash
      // leaves.
      throw uncertain.error
    }
  }

  /// Returns once what `body` writes is durable; throws `UncertainCommit` if a crash may bring it
  /// back.
  func commit(
    usingReserve: Bool = true,
    _ body: @escaping @Sendable (borrowing SQLiteConnection) throws -> Void
  ) throws {
    try fileSystem.check(.journal, path)
    try Self.explainingSpace(in: folder) {
      try commits.join(Write(body: body, usesReserve: usingReserve)) { writes in
        writer.use.withLock { commit(writes, to: $0) }
      }
    }
    fileSystem.didCommit?(path)
    if !isReserveHeld.load(ordering: .relaxed) {
      isReserveHeld.store(reserve.fill(), ordering: .relaxed)
    }
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
        // Each alone then, so that one that cannot be written costs no other one.
      }
    }
    let results = writes.map { write in Result { try commit(write, to: connection) } }
    guard connection.hasUncertainCommit else { return results }
    // Any of them may be what the log has, since all were in the first attempt.
    return results.map { result in
      result.mapError { UncertainCommit(ContentError($0, while: "writing the journal")) }
    }
  }

  private func commit(_ write: Write, to connection: borrowing SQLiteConnection) throws {
    do {
      try connection.transaction(write.body)
    } catch let error as ContentError where error.code == .diskFull {
      do {
        // The log then begins anew, in the space that it has.
        try connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        try connection.transaction(write.body)
      } catch let error as ContentError where error.code == .diskFull {
        guard write.usesReserve, reserve.release() else { throw error }
        isReserveHeld.store(false, ordering: .relaxed)
        try connection.transaction(write.body)
      }
    }
  }

  func read<Value>(_ body: (borrowing SQLiteConnection) throws -> Value) throws -> Value {
    try fileSystem.check(.read, path)
    return try reader.use.withLock { try body($0) }
  }
}
