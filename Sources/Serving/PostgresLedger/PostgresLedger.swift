import HostedModel
package import HostedLedger

/// A ledger in a PostgreSQL database.
///
/// Several servers may share it. The tables are in the current schema of the URL's user. An account
/// must be named: a purchase without an account is recorded, but not found by its account.
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
