import HostedDatabase
import HostedModel

/// The journal's tables, and the statements that migrate an older journal.
struct JournalSchema: Sendable {
  /// The current schema; an older journal is migrated when it is opened for writing.
  static let current = JournalSchema(tables: tables, migrations: [fromVersion1])
  /// `PRAGMA application_id` of a journal: “HCJo”.
  static let applicationIdentifier = 0x4843_4A6F

  /// SQL that creates the tables in an empty database.
  let tables: String
  /// SQL that migrates version n to n + 1, starting with version 1.
  let migrations: [String]

  /// The value of `PRAGMA user_version`; 0 is an empty database.
  var version: Int { migrations.count + 1 }

  private static let tables = """
    CREATE TABLE queue_transaction (
      sequence INTEGER PRIMARY KEY,    -- position in the queue
      id TEXT NOT NULL UNIQUE,
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      account TEXT,
      state INTEGER NOT NULL,
      grant_number TEXT,               -- assigned by the seller; null before the grant
      grant_date REAL,                 -- seconds since 1970
      grant_payment TEXT,              -- Payment as JSON, if it differs from the transaction
      original TEXT,                   -- Grant as JSON without its receipt, if restored
      error TEXT,                      -- ContentError as JSON, if failed
      asks_to_buy INTEGER NOT NULL     -- whether Ask to Buy is simulated
    ) STRICT;
    CREATE TABLE queue_download (
      sequence INTEGER NOT NULL,       -- of its transaction
      position INTEGER NOT NULL,       -- from 0; the identifier is <transaction>-<position + 1>
      offer INTEGER NOT NULL,          -- queue_offer
      state INTEGER NOT NULL,
      is_requested INTEGER NOT NULL,
      keeps_current INTEGER,
      error TEXT,                      -- ContentError as JSON, if failed
      PRIMARY KEY (sequence, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE queue_offer (
      id INTEGER PRIMARY KEY,
      offer TEXT NOT NULL UNIQUE       -- ContentOffer as JSON, shared by downloads
    ) STRICT;
    CREATE TABLE receipt (
      id TEXT PRIMARY KEY,             -- of the transaction; kept after it is finished
      receipt TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE finished_transaction (
      id TEXT PRIMARY KEY,             -- a transaction cannot be finished twice
      product TEXT NOT NULL,
      account TEXT,
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
      signers BLOB,                    -- digest of the keys that signed the files' digests;
                                       -- null if the files were compared with the digests
      UNIQUE (content, version)
    ) STRICT;
    CREATE TABLE pin (
      content TEXT NOT NULL,
      version TEXT NOT NULL,
      PRIMARY KEY (content, version)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE content_files (
      content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
      files BLOB NOT NULL              -- InstalledFile.encoded
    ) STRICT;
    CREATE TABLE order_number (
      number TEXT PRIMARY KEY,         -- the seller's, if it differs from the transaction's id
      id TEXT NOT NULL                 -- of the transaction; kept after it is finished
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE finish_notice (
      id TEXT PRIMARY KEY,             -- of a finished transaction the seller must acknowledge
      number TEXT NOT NULL,            -- the seller's
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      account TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE revoked_product (
      product TEXT PRIMARY KEY         -- its contents must be removed
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE store_cursor (
      id INTEGER PRIMARY KEY CHECK (id = 0),
      cursor TEXT NOT NULL             -- the position in the seller's events
    ) STRICT;
    """

  /// Version 1 did not record the accounts of finished transactions, and not what was bought.
  ///
  /// A notice needs that only if the seller has lost the purchase.
  private static let fromVersion1 = """
    ALTER TABLE finished_transaction ADD COLUMN account TEXT;
    ALTER TABLE finish_notice RENAME TO earlier_notice;
    CREATE TABLE finish_notice (
      id TEXT PRIMARY KEY,
      number TEXT NOT NULL,
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      account TEXT
    ) STRICT, WITHOUT ROWID;
    INSERT INTO finish_notice SELECT n.id, number, product, 1, NULL
      FROM earlier_notice n JOIN finished_transaction f ON f.id = n.id;
    DROP TABLE earlier_notice;
    CREATE TABLE revoked_product (product TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    """

  /// Creates the tables or migrates an older journal, in one transaction.
  ///
  /// Throws `libraryNewer` for a newer journal and does not change it.
  func migrate(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try Self.version(of: connection)
    try refuseNewer(found, path)
    guard found < version else { return }
    guard found >= 0 else {
      throw ContentError(
        .journalFailed, "The journal \(path) is damaged: its schema is \(found)",
        remedy: "Move it away and get the products again. Installed versions stay readable",
        subject: path)
    }
    try connection.transaction { connection in
      let statements = found == 0 ? [tables] : Array(migrations.dropFirst(found - 1))
      for statement in statements { try connection.execute(statement) }
      try connection.execute(
        "PRAGMA application_id = \(Self.applicationIdentifier); PRAGMA user_version = \(version)")
    }
  }

  /// Throws for a journal of another version; for readers, which cannot migrate.
  func check(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try Self.version(of: connection)
    try refuseNewer(found, path)
    guard found == version else {
      throw ContentError(
        .journalFailed, "The journal \(path) has schema \(found), expected \(version)",
        remedy: "Open the library once with write access to migrate the journal", subject: path
      )
    }
  }

  /// Throws for a journal from newer software, and for a database of another program.
  func refuseUnknown(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try connection.header()
    if found.application == Self.applicationIdentifier {
      return try refuseNewer(found.version, path)
    }
    guard found == (0, 0, 0) else {
      throw ContentError(
        .libraryFolderTaken, "\(path) is a database of another program",
        remedy: "Choose another folder for the library", subject: path)
    }
  }

  private static func version(of connection: borrowing SQLiteConnection) throws -> Int {
    try connection.first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
  }

  private func refuseNewer(_ found: Int, _ path: String) throws {
    guard found > version else { return }
    throw ContentError(
      .libraryNewer,
      "The journal \(path) has schema \(found), newer than \(version)",
      remedy: "Use the newer version of the software that wrote it", subject: path)
  }
}
