import Glibc
import HostedCSQLite
package import HostedFileIO
package import HostedModel

/// One connection to a SQLite database, the only type that uses its handle.
///
/// It is not copyable and has no lock: its owner serializes the calls. All failures are
/// `ContentError`s with SQLite's message.
// Sendable, because a handle without SQLite's mutex may move between threads if one thread at a
// time uses it. The owner's lock ensures this.
package struct SQLiteConnection: ~Copyable, @unchecked Sendable {
  private let handle: OpaquePointer
  private let path: DatabasePath
  private let state = State()
  /// Milliseconds.
  private static let busyTimeout: Int32 = 5_000

  private final class State {
    /// Idle prepared statements; preparing a statement costs more than running it.
    var statements: [String: OpaquePointer] = [:]
    var hasUncertainCommit = false
  }

  /// Whether a failed commit may have left its frames in the log, and no commit has written since.
  ///
  /// If the process is killed now, recovery applies these frames. The next commit that writes
  /// overwrites them. Documentation/Queue.md describes what SQLite guarantees.
  package var hasUncertainCommit: Bool { state.hasUncertainCommit }

  /// How to open a database.
  package enum Access: Sendable {
    /// Creates the database if it does not exist.
    case write
    /// Writes, but does not create.
    case existing
    case read
    /// For a file without writers, in a place where SQLite cannot create files.
    case readUnchanging
  }

  package init(path: String, _ access: Access, of contents: DatabaseContents = .journal) throws {
    self.path = DatabasePath(text: path, contents: contents)
    handle = try Self.open(self.path, access)
  }

  deinit {
    state.statements.values.forEach { sqlite3_finalize($0) }
    sqlite3_close_v2(handle)
  }

  private static func open(_ path: DatabasePath, _ access: Access) throws -> OpaquePointer {
    var handle: OpaquePointer?
    let (name, flags) =
      switch access {
      case .write: (path.text, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      case .existing: (path.text, SQLITE_OPEN_READWRITE)
      case .read: (path.text, SQLITE_OPEN_READONLY)
      case .readUnchanging:
        (
          "file:\(PercentEncoding.path(path.text))?immutable=1",
          SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
        )
      }
    let code = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
    guard let handle else {
      throw ContentError.database(path, code: code, extended: code, "out of memory")
    }
    guard code == SQLITE_OK else {
      defer { sqlite3_close_v2(handle) }
      throw failure(of: handle, path)
    }
    sqlite3_busy_timeout(handle, busyTimeout)
    return handle
  }

  /// Keeps the log's files, empty, when the database is closed.
  ///
  /// Users who may read but not create them could not open the database otherwise.
  package func keepLogFiles() throws {
    var isOn: Int32 = 1
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &isOn) == SQLITE_OK else {
      throw Self.failure(of: handle, path)
    }
    try execute("PRAGMA journal_size_limit = 0")
  }

  /// Copies the log's changes into the database and empties the log.
  ///
  /// Does nothing while another connection uses the log; the result is ignored.
  package func emptyLog() {
    sqlite3_busy_timeout(handle, 0)
    defer { sqlite3_busy_timeout(handle, Self.busyTimeout) }
    _ = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
  }

  /// Sets the journal mode WAL, which is stored in the file.
  ///
  /// Waits up to `timeout` milliseconds for other connections: SQLite does not call its busy
  /// handler here, because two connections could wait for each other.
  package func useWriteAheadLog(timeout: Int) throws {
    var waited: Int32 = 0
    while sqlite3_exec(handle, "PRAGMA journal_mode = WAL", nil, nil, nil) != SQLITE_OK {
      guard sqlite3_errcode(handle) == SQLITE_BUSY, waited < timeout else {
        throw Self.failure(of: handle, path)
      }
      waited += max(1, sqlite3_sleep(5))
    }
  }

  private static func failure(of handle: OpaquePointer, _ path: DatabasePath) -> ContentError {
    ContentError.database(
      path, code: sqlite3_errcode(handle), extended: sqlite3_extended_errcode(handle),
      system: sqlite3_system_errno(handle), String(cString: sqlite3_errmsg(handle)))
  }

  /// A value that is bound to a statement or read from a row.
  package enum Value: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
  }

  /// Runs statements without values and rows.
  package func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      throw Self.failure(of: handle, path)
    }
  }

  /// Runs one statement with `values`.
  package func run(_ sql: String, _ values: [Value] = []) throws { try query(sql, values) { _ in } }

  /// Runs one statement with `values` and calls `body` for each row.
  package func query(_ sql: String, _ values: [Value] = [], row body: (Row) throws -> Void) throws {
    let statement = try prepare(sql)
    defer { put(statement, back: sql) }
    try bind(values, to: statement)
    try step(statement, body)
  }

  /// Returns `PRAGMA application_id` and `user_version`, and the number of tables and indexes.
  ///
  /// One statement reads one state, even while another process creates the tables.
  package func header() throws -> (application: Int, version: Int, tables: Int) {
    var header = (application: 0, version: 0, tables: 0)
    try query(
      "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
        + "FROM pragma_application_id, pragma_user_version"
    ) { header = (Int($0.integer(0)), Int($0.integer(1)), Int($0.integer(2))) }
    return header
  }

  /// Runs `body` as one transaction: it is durable and complete, or not visible at all.
  ///
  /// After an error, `hasUncertainCommit` says whether a crash may bring the transaction back.
  package func transaction(_ body: (borrowing SQLiteConnection) throws -> Void) throws {
    try execute("BEGIN IMMEDIATE")
    do {
      try body(self)
    } catch {
      rollBack()
      throw error
    }
    let written = writtenPages
    do {
      try execute("COMMIT")
    } catch {
      let code = sqlite3_errcode(handle)
      rollBack()
      // On a full disk, the last frame, which commits, is incomplete. After any other error, such
      // as a failed sync, it may be complete.
      if code != SQLITE_FULL { state.hasUncertainCommit = true }
      throw error
    }
    // A transaction without changes has not overwritten the frames.
    if writtenPages != written { state.hasUncertainCommit = false }
  }

  /// Runs `body`, whose queries all read the same state.
  package func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
    try execute("BEGIN")
    defer { rollBack() }
    return try body()
  }

  /// Rolls back a failed transaction, unless SQLite has already rolled it back.
  private func rollBack() {
    guard sqlite3_get_autocommit(handle) == 0 else { return }
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    if sqlite3_get_autocommit(handle) == 0 { state.hasUncertainCommit = true }
  }

  /// The number of pages that this connection has written to the log.
  private var writtenPages: Int32 {
    var (pages, highest): (Int32, Int32) = (0, 0)
    sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 0)
    return pages
  }

  private func put(_ statement: OpaquePointer, back sql: String) {
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
    // The same statement may have been in use twice, in nested queries.
    if let other = state.statements.updateValue(statement, forKey: sql) {
      sqlite3_finalize(other)
    }
  }

  private func prepare(_ sql: String) throws -> OpaquePointer {
    if let statement = state.statements.removeValue(forKey: sql) { return statement }
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw Self.failure(of: handle, path)
    }
    return statement
  }

  private func bind(_ values: [Value], to statement: OpaquePointer) throws {
    for (offset, value) in values.enumerated() {
      let index = Int32(offset + 1)
      let code =
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .real(let number): sqlite3_bind_double(statement, index, number)
        // With the length, because text with a NUL would end there otherwise.
        case .text(let text): hc_sqlite_bind_text(statement, index, text, Int32(text.utf8.count))
        case .blob(let bytes): hc_sqlite_bind_blob(statement, index, bytes, Int32(bytes.count))
        }
      guard code == SQLITE_OK else { throw Self.failure(of: handle, path) }
    }
  }

  private func step(_ statement: OpaquePointer, _ body: (Row) throws -> Void) throws {
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: try body(Row(statement: statement))
      case SQLITE_DONE: return
      default: throw Self.failure(of: handle, path)
      }
    }
  }

  /// The current row of a query; it is only valid in the closure.
  package struct Row {
    fileprivate let statement: OpaquePointer

    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    package func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }

    package func text(_ column: Int32) -> String {
      withBytes(column) { String(decoding: $0, as: UTF8.self) }
    }

    /// The text; if it equals `known`, returns `known`, to share its storage.
    package func text(_ column: Int32, sharing known: String) -> String {
      withBytes(column) {
        $0.elementsEqual(known.utf8) ? known : String(decoding: $0, as: UTF8.self)
      }
    }

    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    package func blob(_ column: Int32) -> [UInt8] { withBytes(column) { Array($0) } }

    package func isNull(_ column: Int32) -> Bool {
      sqlite3_column_type(statement, column) == SQLITE_NULL
    }

    private func withBytes<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value)
      -> Value
    {
      // The order matters: asking for the bytes may change their number.
      let start = sqlite3_column_blob(statement, column)
      let count = Int(sqlite3_column_bytes(statement, column))
      return body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
  }
}

/// The content of a database, which its errors name.
package enum DatabaseContents: String, Sendable {
  case journal, ledger
}

struct DatabasePath {
  let text: String
  let contents: DatabaseContents
}

extension ContentError {
  /// `system` is the errno of the failed system call, if SQLite only reports that I/O failed.
  static func database(
    _ path: DatabasePath, code: Int32, extended: Int32, system: Int32 = 0, _ words: String
  ) -> ContentError {
    let cause = "SQLite \(extended): \(words)"
    // SQLite has a code of its own for a full disk, but not for an exceeded quota.
    let isUnspecific = code == SQLITE_IOERR || code == SQLITE_CANTOPEN
    if isUnspecific, [ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EACCES].contains(system) {
      return ContentError(errno: system, path.contents == .journal ? .journal : .write, path.text)
    }
    let contents = path.contents
    let isDamaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB
    if isDamaged, contents == .ledger { return damagedLedger(path.text, cause) }
    let name = "\(contents.rawValue) \(path.text)"
    let failed: Code = contents == .journal ? .journalFailed : .ledgerFailed
    let (error, message, remedy): (Code, String, String) =
      switch code {
      case SQLITE_FULL:
        (
          .diskFull, "No space left to write the \(name)",
          "Free space on that file system and try again"
        )
      case SQLITE_NOMEM:
        (
          .outOfMemory, "SQLite cannot allocate memory for the \(name)",
          "Free memory or raise the process's limit, then try again"
        )
      case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
        (
          .notPermitted, "Cannot write the \(name)",
          contents == .journal
            ? "Give this user write permission"
            : "Give this user write permission for the file and its folder"
        )
      case SQLITE_BUSY:
        (
          failed, "Another process has locked the \(name)",
          "Wait until that process has finished, then try again"
        )
      case _ where isDamaged:
        (
          failed, "The \(name) is damaged",
          "Move it away and get the products again. Installed versions stay readable"
        )
      default:
        (
          failed, "Cannot read or write the \(name)",
          "Check the file system and the folder's permissions, then try again"
        )
      }
    return ContentError(error, message, remedy: remedy, subject: path.text, cause: cause)
  }

  /// The remedy keeps the file, because it may be the only record of what accounts own.
  package static func damagedLedger(_ path: String, _ cause: String) -> ContentError {
    ContentError(
      .ledgerFailed, "The ledger \(path) is damaged, or is not a ledger",
      remedy: "Keep a copy of the file, then restore a backup, or recover its purchases with "
        + "“sqlite3 FILE .recover”",
      subject: path, cause: cause)
  }
}

/// The files of a database.
extension Directory {
  /// The ends of their names.
  private static let suffixes = ["", "-journal", "-wal", "-shm"]

  /// Removes the permissions of other users from the files of the database `name`.
  package func makePrivate(database name: String) throws {
    for suffix in Self.suffixes { try makePrivate(name + suffix) }
  }

  package func remove(database name: String) throws {
    for suffix in Self.suffixes { try removeFile(name + suffix) }
  }

  /// Makes the commits durable that a connection has found in the log of the database `name`.
  ///
  /// A process that was killed during a sync leaves commits in the page cache only. They are read
  /// like all others, but a power failure would undo them. Call it after a connection has read the
  /// log, and before what it contains is used.
  package func syncLog(ofDatabase name: String) throws {
    let log = "\(name)-wal"
    guard let status = try status(of: log), status.size > 0 else { return }
    // SQLite has no locks on this file, which closing it here would release.
    try file(log).sync()
    try sync()
  }

  /// Calls `body`, which writes a database in this folder.
  ///
  /// If space is missing, the error says how much is free.
  package func explainingSpace<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as ContentError where error.code == .diskFull {
      guard let free = try? availableBytes() else { throw error }
      // One page and its header in the log is the minimum. Only SQLite knows the actual number.
      throw ContentError(
        .diskFull, "\(error.message): it needs at least 8192 bytes more, where \(free) are free",
        remedy: error.remedy, subject: error.subject, cause: error.cause)
    }
  }
}
