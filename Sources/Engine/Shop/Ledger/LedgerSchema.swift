/// The tables of a ledger, in SQL that SQLite and PostgreSQL understand.
///
/// Times are milliseconds since 1970. An erasure must leave no name in a file, but SQLite leaves
/// copies of rows that it moves to other pages. So rows of `account` are only added at the end, keep
/// their length, and are not deleted. An index of the names would move them, so the index is of
/// hashes.
package enum LedgerSchema {
  /// The version of the schema.
  package static let version = 2

  /// Adds the row of the table `ledger`; the values are its incarnation and its origin.
  package static let firstRow =
    "INSERT INTO ledger (id, incarnation, origin, next_sequence, pruned_sequence) "
    + "VALUES (0, ?1, ?2, 1, 0)"
  /// Adds the account of purchases without an account; the value is the hash of an empty name.
  package static let ownAccount =
    "INSERT INTO account (id, name, hash, alias, is_erased) VALUES (0, '', ?1, '', 0)"

  /// The statements that create the tables.
  ///
  /// `integer` is the type of 64-bit numbers, `bytes` that of digests, and `suffix` follows each
  /// table, such as ` STRICT`.
  package static func tables(integer: String, bytes: String, suffix: String = "") -> [String] {
    (tables + indexes).map { statement in
      guard statement.hasPrefix("CREATE TABLE") else { return statement }
      return statement.replacing(" INTEGER", with: " \(integer)")
        .replacing(" BLOB", with: " \(bytes)") + suffix
    }
  }

  private static let tables = [
    """
    CREATE TABLE ledger (
      id INTEGER PRIMARY KEY CHECK (id = 0),
      incarnation TEXT NOT NULL,        -- changes when the ledger is restored from a backup
      origin TEXT NOT NULL,             -- identifies the database, to detect a restore
      next_sequence INTEGER NOT NULL,   -- of purchases, changes and events, in commit order
      pruned_sequence INTEGER NOT NULL, -- events up to this number were deleted
      moved TEXT                        -- moving, or moved to another database; null if in use
    )
    """,
    """
    CREATE TABLE account (
      id INTEGER PRIMARY KEY,           -- ascending; 0 for a library's own account
      name TEXT NOT NULL,               -- empty for a library's own account; filler if erased
      hash INTEGER NOT NULL,            -- of the name; random if erased
      alias TEXT NOT NULL,              -- random; the name after an erasure
      is_erased INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE purchase (
      sequence INTEGER PRIMARY KEY,
      transaction_id TEXT NOT NULL UNIQUE,
      revision INTEGER NOT NULL,        -- the number of the last change
      account INTEGER NOT NULL,
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      kind TEXT NOT NULL,               -- sale, repeat or part
      original INTEGER,                 -- the sequence of the sale; null for a sale
      state TEXT NOT NULL,
      state_at INTEGER,                 -- of a failure, refund or revocation
      reason TEXT,                      -- of a failure, refund or revocation
      waits_for TEXT,                   -- approval or payment; null unless deferred
      request_digest BLOB NOT NULL,     -- zeros after an erasure
      contents TEXT NOT NULL,           -- lines of an identifier, a space and a version
      is_restorable INTEGER NOT NULL,
      is_sold_once INTEGER NOT NULL,
      price INTEGER,                    -- in thousandths
      currency TEXT,
      voucher_digest BLOB,              -- of the voucher that is reserved or used
      actor TEXT,                       -- of the last change: a key, a decider, clock or import
      reference TEXT,                   -- the provider's number of the payment
      expires_at INTEGER,
      sold_at INTEGER NOT NULL,
      finished_at INTEGER
    )
    """,
    """
    CREATE TABLE event (
      sequence INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      kind TEXT NOT NULL,
      purchase INTEGER,                 -- the purchase's sequence
      actor TEXT,
      request_key TEXT                  -- the Idempotency-Key of a change
    )
    """,
    """
    CREATE TABLE voucher (
      code_digest BLOB PRIMARY KEY,
      product TEXT,                     -- null for any product
      campaign TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      revoked_at INTEGER,
      transaction_id TEXT,              -- of the purchase that has reserved or used it
      used_at INTEGER                   -- null while it is reserved
    )
    """,
    """
    CREATE TABLE api_key (
      kid TEXT PRIMARY KEY,
      account TEXT NOT NULL,            -- of requests without an account; kept by a rotation
      token_digest BLOB UNIQUE,         -- SHA-256 of the token; null for a key pair
      public_key TEXT,                  -- PEM; null for a token
      scopes TEXT NOT NULL,             -- separated by commas
      created_at INTEGER NOT NULL,
      not_after INTEGER,
      revoked_at INTEGER
    )
    """,
    """
    CREATE TABLE receipt_key (
      digest BLOB PRIMARY KEY,          -- SHA-256 of the public key
      added_at INTEGER NOT NULL,
      retired_at INTEGER
    )
    """,
    """
    CREATE TABLE gap (
      from_at INTEGER NOT NULL,         -- sales from here to to_at were lost by a restore
      to_at INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE receiver (
      url TEXT PRIMARY KEY,
      sequence INTEGER NOT NULL,        -- it has all events up to this number
      holder TEXT,                      -- the server that sends
      lease_until INTEGER
    )
    """,
  ]

  private static let indexes = [
    "CREATE INDEX account_hash ON account (hash)",
    "CREATE INDEX purchase_of_product ON purchase (account, product, sequence)",
    "CREATE INDEX purchase_change ON purchase (account, revision)",
    "CREATE INDEX purchase_repeat ON purchase (original) WHERE original IS NOT NULL",
    "CREATE INDEX purchase_state ON purchase (state, account, state_at) WHERE state <> 'purchased'",
    "CREATE INDEX event_change ON event (purchase) WHERE kind <> 'purchased'",
    "CREATE UNIQUE INDEX event_request ON event (actor, request_key) WHERE request_key IS NOT NULL",
  ]
}
