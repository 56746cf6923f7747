import Dispatch
import HostedConcurrency
package import HostedShop
import HostedModel

/// A ledger in a PostgreSQL database.
///
/// Several servers may share it. The tables are in the current schema of the URL's user.
package final class PostgresLedger: LedgerDatabase {
  /// Called before each request to the server with its SQL, so that tests can interrupt there.
  package typealias Step = @Sendable (_ sql: String) throws -> Void

  private let name: String
  private let writer: PostgresPool
  private let readers: PostgresPool

  /// How often a transaction runs that is rolled back because of another one.
  private static let maximumRuns = 4

  /// Creates a handle for the database at a URL like `postgresql://user:password@host/database`.
  ///
  /// The first call connects, and the first write creates the tables. Throws `usage` if the URL is
  /// malformed; no error contains the password.
  package init(url: String, willRun: Step? = nil) throws {
    let address = try PostgresAddress(url)
    let open = { @Sendable in try PostgresConnection(address, willRun) }
    name = address.name
    writer = PostgresPool(1, open: open)
    readers = PostgresPool(2, open: open)
  }

  package func close() {
    writer.close()
    readers.close()
  }

  package func write<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws
    -> Value
  {
    try reportingFailures {
      var runs = 1
      while true {
        do {
          return try writer.use { connection in
            _ = try PostgresLedgerSchema.prepare(connection, creating: true)
            return try connection.transaction { try body(connection) }
          }
        } catch let failure as PostgresFailure
          where failure.isConflict && runs < Self.maximumRuns
        {
          runs += 1
        }
      }
    }
  }

  /// Each query of `body` reads one state, without a transaction: look-ups have one query.
  package func read<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws
    -> Value?
  {
    try reportingFailures {
      try readers.use { connection -> Value? in
        guard try PostgresLedgerSchema.prepare(connection, creating: false) else { return nil }
        return try body(connection)
      }
    }
  }

  private func reportingFailures<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let failure as PostgresFailure {
      throw failure.error(name)
    } catch let damaged as DamagedLedger {
      throw ContentError(
        .ledgerFailed, "The ledger in the database \(name) is damaged",
        remedy: "Restore a backup of the database", subject: name, cause: damaged.cause)
    }
  }
}

/// Lends connections, and keeps unused ones open.
private final class PostgresPool: Sendable {
  private let places: DispatchSemaphore
  private let unused = Mutex<[PostgresConnection]>([])
  private let open: @Sendable () throws -> PostgresConnection

  /// Lends at most `count` connections at the same time.
  init(_ count: Int, open: @escaping @Sendable () throws -> PostgresConnection) {
    places = DispatchSemaphore(value: count)
    self.open = open
  }

  /// Calls `body` with a connection, and closes the connection if it throws.
  ///
  /// If an unused connection turns out to be lost at the first request, calls `body` again with a
  /// new one.
  func use<Value>(_ body: (PostgresConnection) throws -> Value) throws -> Value {
    places.wait()
    defer { places.signal() }
    if let connection = unused.withLock({ $0.popLast() }) {
      connection.successes = 0
      do {
        return try lend(connection, to: body)
      } catch let failure as PostgresFailure
        where failure.isDisconnected && connection.successes == 0
      {
        // Such as after a restart of the server: the other connections are lost, too.
        close()
      }
    }
    return try lend(open(), to: body)
  }

  private func lend<Value>(
    _ connection: PostgresConnection, to body: (PostgresConnection) throws -> Value
  ) throws -> Value {
    let value = try body(connection)
    unused.withLock { $0.append(connection) }
    return value
  }

  /// Closes unused connections.
  func close() {
    let closed = unused.withLock { unused in
      defer { unused = [] }
      return unused
    }
    // Closing sends a message, so it is done without the lock.
    withExtendedLifetime(closed) {}
  }
}

/// Creates the tables of a ledger in PostgreSQL, and recognizes its version and origin.
private enum PostgresLedgerSchema {
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
    for statement in LedgerSchema.tables(integer: "BIGINT", bytes: "BYTEA") {
      // The order of a language can change with the system's libraries, which damages indexes.
      try connection.execute(statement.replacing(" TEXT", with: " TEXT COLLATE \"C\""))
    }
    try connection.run(LedgerSchema.firstRow, [.text(randomIdentifier()), .text("")])
    try connection.run(LedgerSchema.ownAccount, [try .hash(nil)])
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
