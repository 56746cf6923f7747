import HostedModel
import HostedLedger

/// Creates the tables of a ledger in PostgreSQL, and recognizes its version and origin.
enum PostgresLedgerSchema {
  /// The advisory lock of the creation: “HCLe”.
  private static let lock: Int64 = 0x4843_4C65

  /// Identifies the cluster, the database, the table and the timeline, for any role.
  ///
  /// It changes if the ledger is restored from a dump, or the cluster from a base backup: recovery
  /// to a point in time and a failover start a timeline. A cluster that is replaced by a snapshot
  /// of its disk keeps it; the operator can then run `UPDATE ledger SET origin = 'restored'`.
  private static let origin =
    "SELECT system_identifier || '/' || (SELECT oid FROM pg_database "
    + "WHERE datname = current_database()) || '/' || pg_relation_filenode('ledger') || '/' "
    + "|| left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()"

  /// Creates the tables if `creating`; returns whether they exist.
  ///
  /// Throws `ledgerFailed`, and changes nothing, if they have another version.
  static func prepare(_ connection: PostgresConnection, creating: Bool) throws -> Bool {
    guard !connection.isLedger else { return true }
    if try !exists(connection) {
      guard creating else { return false }
      try connection.transaction { try create(connection) }
    }
    try checkVersion(connection)
    try adopt(connection)
    connection.isLedger = true
    return true
  }

  private static func exists(_ connection: PostgresConnection) throws -> Bool {
    // to_regclass() may use a cache that does not have a table of a concurrent transaction.
    try connection.hasRow(
      "SELECT 1 FROM pg_class WHERE relname = 'ledger_schema' AND pg_table_is_visible(oid)")
  }

  private static func create(_ connection: PostgresConnection) throws {
    // A second server that starts at the same time waits here until the tables exist.
    try connection.run("SELECT pg_advisory_xact_lock(?1)", [.integer(lock)])
    guard try !exists(connection) else { return }
    for statement in LedgerSchema.tables(integer: "BIGINT") {
      // The order of a language can change with the system's libraries, which damages indexes.
      try connection.execute(statement.replacing(" TEXT", with: " TEXT COLLATE \"C\""))
    }
    try connection.run(LedgerSchema.firstRow, [.text(randomIdentifier()), .text("")])
    try connection.execute(
      "CREATE TABLE ledger_schema (version BIGINT NOT NULL); "
        + "INSERT INTO ledger_schema VALUES (\(LedgerSchema.version))")
  }

  private static func checkVersion(_ connection: PostgresConnection) throws {
    var version: Int64 = 0
    try connection.query("SELECT version FROM ledger_schema", []) { version = $0.integer(0) }
    guard version == LedgerSchema.version else {
      throw ContentError(
        .ledgerFailed,
        "The ledger in the database \(connection.name) has schema \(version); this version reads "
          + "\(LedgerSchema.version)",
        remedy: "Use the version of the software that wrote it", subject: connection.name)
    }
  }

  /// A new connection may be to a restored database.
  private static func adopt(_ connection: PostgresConnection) throws {
    var found = ""
    try connection.query(origin, []) { found = $0.text(0) }
    try connection.run(LedgerStatements.adoption, [.text(found), .text(randomIdentifier())])
  }
}
