import HostedConcurrency
import HostedModel
import HostedDatabase
package import HostedFileIO
import FoundationEssentials

/// A ledger in a SQLite file.
///
/// Libraries and processes may share it. A reader does not wait for a writer.
package final class SQLiteLedger: LedgerDatabase {
  /// The file's name in the folder of a library or of a server's data.
  package static let fileName = "ledger.sqlite"

  private let folder: Directory
  private let name: String
  private let lockTimeout: Int
  private let writer = Serialized<Opened?>(nil)
  private let reader = Serialized<Opened?>(nil)

  /// Held while a file is created or opened: closing any descriptor of a file releases all fcntl(2)
  /// locks of this process on it, including those of another connection.
  private static let opening = OperationLock()

  /// A connection and its file.
  private final class Opened: LedgerConnection {
    let connection: SQLiteConnection
    let inode: UInt64

    init(_ connection: consuming SQLiteConnection, inode: UInt64) {
      self.connection = connection
      self.inode = inode
    }

    func query(_ sql: String, _ values: [LedgerValue], row: (any LedgerRow) throws -> Void) throws {
      try connection.query(sql, values.map(\.value)) { try row($0) }
    }
  }

  /// Creates a handle for the database `name` in `folder`.
  ///
  /// The first write creates the file. Removes the permissions of other users from an existing
  /// file. `lockTimeout` is how long a call waits for other connections, in milliseconds. It is
  /// long because many processes may write, and SQLite's locks are not fair.
  package init(
    _ name: String = fileName, in folder: Directory, lockTimeout: Int = 10_000
  ) throws {
    self.folder = folder
    self.name = name
    self.lockTimeout = lockTimeout
    try folder.makePrivate(database: name)
  }

  private var path: String { folder.path(of: name) }

  /// Closes the connections.
  ///
  /// The last connection that closes the database checkpoints the write-ahead log.
  package func close() {
    writer.use { $0 = nil }
    reader.use { $0 = nil }
  }

  package func write<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws
    -> Value
  {
    try folder.fileSystem.check(.journal, path)
    let value: Value? = try folder.explainingSpace {
      try withConnection(writer, creating: true) { opened in
        var value: Value?
        try opened.connection.transaction { _ in value = try body(opened) }
        return value
      } ?? nil
    }
    folder.fileSystem.didCommit?(path)
    guard let value else { throw ContentError.damagedLedger(path, "it was removed") }
    return value
  }

  package func read<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws
    -> Value?
  {
    try folder.fileSystem.check(.read, path)
    return try withConnection(reader, creating: false) { try body($0) }
  }

  /// Removes replaced names from the write-ahead log.
  ///
  /// In the database, they were overwritten in their places: see `LedgerSchema`. Throws
  /// `ledgerFailed` while another process reads an older state.
  package func removeTraces() throws {
    try folder.fileSystem.check(.journal, path)
    let isBusy = try folder.explainingSpace {
      try withConnection(writer, creating: false) { opened -> Bool in
        var isBusy = false
        try opened.connection.query("PRAGMA wal_checkpoint(TRUNCATE)") {
          isBusy = $0.integer(0) != 0
        }
        return isBusy
      }
    }
    guard isBusy == true else { return }
    throw ContentError(
      .ledgerFailed, "Another process reads the ledger \(path), which still has erased data",
      remedy: "Wait until that process has finished, then erase the account again", subject: path)
  }

  // MARK: Restored copies

  /// Identifies the file, so that `Ledger.adopt(origin:)` detects a restored one.
  ///
  /// A file that another program overwrites with a copy keeps its identity: remove it first. Copies
  /// of `backup(to:)` are always detected.
  package var origin: String {
    get throws {
      guard let status = try folder.status(of: name) else {
        throw ContentError.damagedLedger(path, "it was removed")
      }
      let birth = try folder.birthTime(of: name)
      return "\(status.identity.inode) \(birth)"
    }
  }

  /// Writes a copy to the new file at `path` while the ledger is used.
  ///
  /// To restore it, stop the server, remove the ledger's file and its `-wal` and `-shm`, and move
  /// the copy there.
  package func backup(to path: String) throws {
    let url = URL(filePath: path)
    let target = try folder.fileSystem.directory(
      at: url.deletingLastPathComponent().path(percentEncoded: false))
    guard try target.status(of: url.lastPathComponent) == nil else {
      throw ContentError(
        .fileExists, "Cannot back up the ledger to \(path): the file exists",
        remedy: "Choose another name", subject: path)
    }
    let temporary = ".\(url.lastPathComponent).new"
    try target.remove(database: temporary)
    _ = try target.createFile(temporary, mode: 0o600)
    do {
      try target.explainingSpace { try copy(to: target.path(of: temporary)) }
      try target.updatedFile(temporary).sync()
      try target.renameWithoutReplacing(temporary, to: target, url.lastPathComponent)
    } catch {
      try? target.remove(database: temporary)
      throw error
    }
    try target.sync()
  }

  private func copy(to copyPath: String) throws {
    try SQLiteConnection(path: path, .existing, of: .ledger)
      .run("VACUUM INTO ?1", [.text(copyPath)])
    // A copy has another origin and no write-ahead log.
    try SQLiteConnection(path: copyPath, .existing, of: .ledger)
      .execute("UPDATE ledger SET origin = 'backup'; PRAGMA journal_mode = WAL")
  }

  // MARK: The connections

  /// Calls `body` with the connection; nil if the database is missing and not created.
  private func withConnection<Value: Sendable>(
    _ slot: Serialized<Opened?>, creating: Bool,
    _ body: (Opened) throws -> Value
  ) throws -> Value? {
    try slot.use { opened in
      // Another file may have replaced it, such as a restored backup. Writes to the old file would
      // be lost.
      let inode = try folder.status(of: name)?.identity.inode
      if opened?.inode != inode { opened = nil }
      if opened == nil { opened = try open(creating: creating) }
      guard let current = opened else { return nil }
      do {
        return try body(current)
      } catch {
        // Open it again next time: the file may have been repaired in place. If this is the last
        // connection, closing it also removes what a failed commit has left in the log.
        opened = nil
        throw (error as? DamagedLedger).map { ContentError.damagedLedger(path, $0.cause) } ?? error
      }
    }
  }

  private func open(creating: Bool) throws -> Opened? {
    try Self.opening.withLock {
      if creating, try folder.status(of: name) == nil { try create() }
      guard let status = try folder.status(of: name) else { return nil }
      try folder.makePrivate(name)
      try folder.createMappedFile("\(name)-shm")
      let connection = try SQLiteConnection(path: path, .existing, of: .ledger)
      try connection.execute("PRAGMA busy_timeout = \(lockTimeout)")
      guard
        try SQLiteLedgerSchema.prepare(
          connection, path: path, creating: creating, lockTimeout: lockTimeout)
      else { return nil }
      try folder.syncLog(ofDatabase: name)
      return Opened(connection, inode: status.identity.inode)
    }
  }

  /// Creates an empty file.
  ///
  /// SQLite would create it with permissions for other users.
  private func create() throws {
    do {
      _ = try folder.createFile(name, mode: 0o600)
    } catch {
      // Another process may have created it in the meantime.
      guard try folder.status(of: name) != nil else { throw error }
    }
  }
}

extension SQLiteConnection.Row: LedgerRow {
  package func bytes(_ column: Int32) -> [UInt8] { blob(column) }
}

extension LedgerValue {
  var value: SQLiteConnection.Value {
    switch self {
    case .null: .null
    case .integer(let number): .integer(number)
    case .text(let text): .text(text)
    case .bytes(let bytes): .blob(bytes)
    }
  }
}
