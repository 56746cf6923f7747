/// The tables of a ledger, in SQL that SQLite and PostgreSQL understand.
///
/// Times are milliseconds since 1970.
package enum LedgerSchema {
  /// The version of the schema.
  package static let version = 1

  /// Adds the row of the table `ledger`; the values are its incarnation and its origin.
  package static let firstRow =
    "INSERT INTO ledger (id, incarnation, origin, next_sequence, pruned_sequence) "
    + "VALUES (0, ?1, ?2, 1, 0)"

  /// The statements that create the tables.
  ///
  /// `integer` is the type of 64-bit numbers, and `suffix` follows each table, such as ` STRICT`.
  package static func tables(integer: String, suffix: String = "") -> [String] {
    [
      """
      CREATE TABLE ledger (
        id INTEGER PRIMARY KEY CHECK (id = 0),
        incarnation TEXT NOT NULL,       -- changes when the ledger is restored from a backup
        origin TEXT NOT NULL,            -- identifies the database, to detect a restore
        next_sequence INTEGER NOT NULL,   -- of purchases, changes and events, in commit order
        pruned_sequence INTEGER NOT NULL  -- events up to this number were deleted
      )
      """,
      """
      CREATE TABLE purchase (
        sequence INTEGER PRIMARY KEY,
        transaction_id TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,        -- the number of the last change
        account TEXT,                    -- null for a library's own account
        product TEXT NOT NULL,
        quantity INTEGER NOT NULL,
        state TEXT NOT NULL,
        state_at INTEGER,                 -- of a refund or a revocation
        reason TEXT,                     -- of a failure, refund or revocation
        request_digest TEXT NOT NULL,
        receipt TEXT,                    -- null if not signed, and after an erasure
        contents TEXT NOT NULL,          -- lines of an identifier, a space and a version
        is_restorable INTEGER NOT NULL,
        price INTEGER,                    -- in thousandths
        currency TEXT,
        sold_at INTEGER NOT NULL,
        finished_at INTEGER
      )
      """,
      "CREATE INDEX purchase_of_product ON purchase (account, product, sequence)",
      "CREATE INDEX purchase_change ON purchase (account, revision)",
      """
      CREATE TABLE event (
        sequence INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        purchase INTEGER                  -- the purchase's sequence
      )
      """,
      """
      CREATE TABLE voucher (
        code_digest TEXT PRIMARY KEY,
        product TEXT,                    -- null for any product
        transaction_id TEXT              -- of the purchase that used it
      )
      """,
      """
      CREATE TABLE api_key (
        kid TEXT PRIMARY KEY,
        account TEXT NOT NULL,           -- of requests without an account; kept by a rotation
        token_digest TEXT UNIQUE,        -- SHA-256 of the token; null for a key pair
        public_key TEXT,                 -- PEM; null for a token
        scopes TEXT NOT NULL,            -- separated by commas
        created_at INTEGER NOT NULL,
        not_after INTEGER,
        revoked_at INTEGER
      )
      """,
    ].map { statement in
      guard statement.hasPrefix("CREATE TABLE") else { return statement }
      return statement.replacing(" INTEGER", with: " \(integer)") + suffix
    }
  }
}
