import ContentModel

/// The table of the grants database, and how to recognize such a file.
enum GrantsSchema {
  /// The version of the schema.
  static let version = 1
  /// `PRAGMA application_id` of a grants database: “HCGr”.
  static let applicationIdentifier = 0x4843_4772

  private static let tables = """
    CREATE TABLE account_grant (
      sequence INTEGER PRIMARY KEY,    -- the order of the grants
      id TEXT NOT NULL UNIQUE,         -- the transaction's identifier
      account TEXT,                    -- null for the library's own account
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      granted_at REAL NOT NULL         -- seconds since 1970
    ) STRICT;
    CREATE INDEX grant_of_product ON account_grant (account, product);
    """

  /// Creates the table in an empty file if `creating`, and configures commits.
  ///
  /// Returns false for an empty file without `creating`. Throws `grantsFailed`, and does not change
  /// the file, if it is not a grants database or has another version.
  static func prepare(
    _ connection: borrowing SQLiteConnection, path: String, creating: Bool
  ) throws -> Bool {
    let isKnown = try isKnown(connection, path)
    guard isKnown || creating else { return false }
    try connection.execute("PRAGMA synchronous = FULL")
    guard !isKnown else { return true }
    // This setting is stored in the file. It cannot be changed in a transaction.
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.transaction { connection in
      // Another process may have created the table in the meantime.
      guard try !Self.isKnown(connection, path) else { return }
      try connection.execute(tables)
      try connection.execute(
        "PRAGMA application_id = \(applicationIdentifier); PRAGMA user_version = \(version)")
    }
    return true
  }

  /// Whether the file is a grants database of this version; false if it is empty.
  private static func isKnown(_ connection: borrowing SQLiteConnection, _ path: String) throws
    -> Bool
  {
    var (found, version, tables) = (0, 0, 0)
    // One statement reads one state, even while another process creates the table.
    try connection.query(
      "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
        + "FROM pragma_application_id, pragma_user_version"
    ) { (found, version, tables) = (Int($0.integer(0)), Int($0.integer(1)), Int($0.integer(2))) }
    if found == applicationIdentifier, version == Self.version { return true }
    guard found != applicationIdentifier else {
      throw ContentError(
        .grantsFailed,
        "The grants file \(path) has schema \(version); this version reads \(Self.version)",
        remedy: "Use the version of the software that wrote it", subject: path)
    }
    guard found == 0, version == 0, tables == 0 else {
      throw ContentError(
        .grantsFailed, "\(path) is a database, but not a grants database",
        remedy: "Choose another file for the grants, or restore the correct file from a backup",
        subject: path)
    }
    return false
  }
}

/// The statements for the grants database.
///
/// Each query uses an index.
enum GrantQuery {
  static let insertion =
    "INSERT INTO account_grant (id, account, product, quantity, granted_at) "
    + "VALUES (?1, ?2, ?3, ?4, ?5)"

  private static let columns =
    "SELECT sequence, id, product, quantity, account, granted_at FROM account_grant "

  static let transaction = columns + "WHERE id = ?1"

  // `IS` compares null with null, and uses the index like `=`.
  static let account = columns + "WHERE account IS ?1"

  private static let product = columns + "WHERE account IS ?1 AND product = ?2 "
  static let original = product + "ORDER BY sequence LIMIT 1"
  static let latest = product + "ORDER BY sequence DESC LIMIT 1"

  /// Steps from product to product in the index.
  ///
  /// The number of grants per product does not matter.
  static let originals = """
    WITH RECURSIVE owned (product) AS (
      SELECT (SELECT min(product) FROM account_grant WHERE account IS ?1)
      UNION ALL
      SELECT (SELECT min(product) FROM account_grant
              WHERE account IS ?1 AND product > owned.product)
      FROM owned WHERE product IS NOT NULL
    )
    \(columns)WHERE sequence IN (
      SELECT (SELECT sequence FROM account_grant AS first
              WHERE first.account IS ?1 AND first.product = owned.product
              ORDER BY sequence LIMIT 1)
      FROM owned WHERE product IS NOT NULL)
    ORDER BY sequence
    """

  /// All queries, with their number of values.
  static let lookUps = [
    (transaction, 1), (account, 1), (original, 2), (latest, 2), (originals, 1),
  ]
}
