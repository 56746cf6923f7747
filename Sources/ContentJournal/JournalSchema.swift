import ContentModel

/// The journal's tables, and the steps that bring an older journal to them.
enum JournalSchema {
  /// One step a version, in order; a step that was released is never changed.
  static let steps: [String] = [
    """
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
    CREATE TABLE content_file (
      content_id INTEGER NOT NULL REFERENCES content (id) ON DELETE CASCADE,
      path TEXT NOT NULL,
      kind TEXT NOT NULL,
      size INTEGER NOT NULL,
      digest BLOB,
      target TEXT,
      inode INTEGER,
      modified INTEGER,
      changed INTEGER,
      PRIMARY KEY (content_id, path)
    ) STRICT, WITHOUT ROWID;
    """,
    """
    CREATE TABLE pin (
      content TEXT NOT NULL,
      version TEXT NOT NULL,
      PRIMARY KEY (content, version)
    ) STRICT, WITHOUT ROWID;
    """,
    """
    -- Who vouches for the digests of its files; null when the files were compared with them.
    ALTER TABLE content ADD COLUMN signers BLOB;
    """,
  ]

  /// Brings the journal to the newest version; refuses one that is newer still.
  static func migrate(_ connection: borrowing SQLiteConnection, path: String) throws {
    let version = try version(of: connection)
    try refuseNewer(version, path)
    for (offset, step) in steps.enumerated().dropFirst(version) {
      try connection.transaction {
        try $0.execute(step)
        try $0.execute("PRAGMA user_version = \(offset + 1)")
      }
    }
  }

  /// Refuses a journal that another version has written; for readers, which may not migrate.
  static func check(_ connection: borrowing SQLiteConnection, path: String) throws {
    let version = try version(of: connection)
    try refuseNewer(version, path)
    if version < steps.count {
      throw ContentError(
        .journalFailed, "The journal \(path) has schema \(version), and \(steps.count) is read",
        remedy: "Run any command that writes the library once, such as get", subject: path)
    }
  }

  private static func version(of connection: borrowing SQLiteConnection) throws -> Int {
    var version = 0
    try connection.query("PRAGMA user_version") { version = Int($0.integer(0)) }
    return version
  }

  private static func refuseNewer(_ version: Int, _ path: String) throws {
    guard version > steps.count else { return }
    throw ContentError(
      .libraryNewer,
      "The library's journal \(path) has schema \(version); this version knows \(steps.count)",
      remedy: "Use the newer version of the software that wrote it", subject: path)
  }
}
