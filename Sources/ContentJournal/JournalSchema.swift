import ContentModel

/// The journal's tables, and what brings an older journal to them.
///
/// Version 1 had each transaction as one JSON text, version 2 has columns, and pins; version 3 says who
/// vouches for the digests of a content's files; version 4 keeps these files as one value instead of a
/// row each, since they are written and read together only; version 5 remembers which order a
/// seller's number answered.
enum JournalSchema {
  /// The version that is written; an older journal is brought to it when it is opened to write.
  static let version = 5

  private static let queueTables = """
    CREATE TABLE queue_transaction (
      sequence INTEGER PRIMARY KEY,    -- its place in the queue
      id TEXT NOT NULL UNIQUE,
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      account TEXT,
      state INTEGER NOT NULL,
      grant_number TEXT,               -- the seller's; null before it is granted
      grant_date REAL,                 -- seconds since 1970
      grant_payment TEXT,              -- Payment as JSON, where it is not the transaction's own
      original TEXT,                   -- Grant as JSON without its receipt, of restored ones
      error TEXT,                      -- ContentError as JSON, of failed ones
      asks_to_buy INTEGER NOT NULL     -- whether somebody else's decision is simulated
    ) STRICT;
    CREATE TABLE queue_download (
      sequence INTEGER NOT NULL,       -- its transaction's
      position INTEGER NOT NULL,       -- from 0; it is named <transaction>-<position + 1>
      offer INTEGER NOT NULL,          -- queue_offer
      state INTEGER NOT NULL,
      is_requested INTEGER NOT NULL,
      keeps_current INTEGER,
      error TEXT,                      -- ContentError as JSON, of failed ones
      PRIMARY KEY (sequence, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE queue_offer (
      id INTEGER PRIMARY KEY,
      offer TEXT NOT NULL UNIQUE       -- ContentOffer as JSON; thousands of downloads may share it
    ) STRICT;
    CREATE TABLE receipt (
      id TEXT PRIMARY KEY,             -- the transaction's; stays after it was finished
      receipt TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  private static let libraryTables = """
    CREATE TABLE finished_transaction (
      id TEXT PRIMARY KEY,             -- a transaction cannot be finished twice
      product TEXT NOT NULL,
      state INTEGER NOT NULL,
      finished_at INTEGER NOT NULL     -- seconds since 1970
    ) STRICT;
    CREATE TABLE content (
      id INTEGER PRIMARY KEY,
      content TEXT NOT NULL,
      version TEXT NOT NULL,
      product TEXT NOT NULL,
      size INTEGER NOT NULL,
      entry_count INTEGER NOT NULL,
      installed_at REAL NOT NULL,      -- seconds since 1970
      is_confirmed INTEGER NOT NULL,
      UNIQUE (content, version)
    ) STRICT;
    """

  private static let pinTable = """
    CREATE TABLE pin (
      content TEXT NOT NULL,
      version TEXT NOT NULL,
      PRIMARY KEY (content, version)
    ) STRICT, WITHOUT ROWID;
    """

  private static let filesTable = """
    CREATE TABLE content_files (
      content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
      files BLOB NOT NULL              -- InstalledFile.encoded
    ) STRICT;
    """

  private static let orderTable = """
    CREATE TABLE order_number (
      number TEXT PRIMARY KEY,         -- the seller's, where it is not the transaction's id
      id TEXT NOT NULL                 -- the transaction's; stays after it was finished
    ) STRICT, WITHOUT ROWID;
    """

  /// Who vouches for the digests of its files; null when the files were compared with them.
  private static let signersColumn = "ALTER TABLE content ADD COLUMN signers BLOB"

  /// Makes the tables, or brings an older journal's to this version, in one transaction.
  ///
  /// Throws `libraryNewer` for a journal that is newer still.
  static func migrate(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try version(of: connection)
    try refuseNewer(found, path)
    guard found < version else { return }
    try connection.transaction { connection in
      if found == 0 {
        try connection.execute(queueTables + libraryTables)
      } else if try QueueOfVersionOne.isIn(connection) {
        let queue = try QueueOfVersionOne(reading: connection)
        try connection.execute("DROP TABLE queue_transaction;" + queueTables)
        try queue.write(to: connection)
      }
      if found < 2 { try connection.execute(pinTable) }
      if found < 3 { try connection.execute(signersColumn) }
      if found < 4 {
        try connection.execute(filesTable)
        if found > 0 { try FilesOfVersionThree.bringOver(connection) }
      }
      if found < 5 { try connection.execute(orderTable) }
      try connection.execute("PRAGMA user_version = \(version)")
    }
  }

  /// Refuses a journal that another version has written; for readers, which may not migrate.
  static func check(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try version(of: connection)
    try refuseNewer(found, path)
    if found < version {
      throw ContentError(
        .journalFailed, "The journal \(path) has schema \(found), and \(version) is read",
        remedy: "Run any command that writes the library once, such as get", subject: path)
    }
  }

  /// Refuses a journal that newer software wrote, and another program's database.
  static func refuseUnknown(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try version(of: connection)
    try refuseNewer(found, path)
    var tables: Set<String> = []
    try connection.query("SELECT name FROM sqlite_master WHERE type = 'table'") {
      tables.insert($0.text(0))
    }
    let isNew = found == 0 && tables.isEmpty
    guard isNew || tables.isSuperset(of: ["queue_transaction", "content"]) else {
      throw ContentError(
        .libraryFolderTaken, "\(path) is a database of another program",
        remedy: "Choose another folder for the library", subject: path)
    }
  }

  private static func version(of connection: borrowing SQLiteConnection) throws -> Int {
    var version = 0
    try connection.query("PRAGMA user_version") { version = Int($0.integer(0)) }
    return version
  }

  private static func refuseNewer(_ found: Int, _ path: String) throws {
    guard found > version else { return }
    throw ContentError(
      .libraryNewer,
      "The library's journal \(path) has schema \(found); this version knows \(version)",
      remedy: "Use the newer version of the software that wrote it", subject: path)
  }
}
