import HostedDigests
package import HostedModel

/// A database that holds a ledger: SQLite or PostgreSQL.
///
/// Thread-safe; calls block. Errors are `ContentError`s; those without a more specific code are
/// `ledgerFailed`.
package protocol LedgerDatabase: Sendable {
  /// Runs `body` as one transaction, one at a time. It is durable when the call returns.
  ///
  /// Creates the ledger if it does not exist. If `body` throws, nothing is changed.
  func write<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws -> Value

  /// Runs `body` on one state of the ledger; nil if the ledger does not exist.
  func read<Value: Sendable>(_ body: (any LedgerConnection) throws -> Value) throws -> Value?

  /// Overwrites what replaced values have left in the files of the database.
  func removeTraces() throws

  /// Closes idle connections. A later call opens them again.
  func close()
}

extension LedgerDatabase {
  /// Does nothing: a database server removes old versions of rows itself.
  package func removeTraces() throws {}

  /// Returns a value for each row of a query; none if the ledger does not exist.
  func rows<Value: Sendable>(
    _ sql: String, _ values: [LedgerValue], _ value: (any LedgerRow) throws -> Value
  ) throws -> [Value] {
    try read { try $0.rows(sql, values, value) } ?? []
  }
}

/// A connection to a ledger within one transaction.
package protocol LedgerConnection {
  /// Runs one statement with values for `?1`, `?2`, …, and calls `row` for each row.
  func query(_ sql: String, _ values: [LedgerValue], row: (any LedgerRow) throws -> Void) throws
}

extension LedgerConnection {
  /// Returns a value for each row.
  func rows<Value>(
    _ sql: String, _ values: [LedgerValue], _ value: (any LedgerRow) throws -> Value
  ) throws -> [Value] {
    var found: [Value] = []
    try query(sql, values) { found.append(try value($0)) }
    return found
  }

  /// Whether the statement returns a row, such as one that it has changed.
  package func hasRow(_ sql: String, _ values: [LedgerValue] = []) throws -> Bool {
    try !rows(sql, values) { _ in }.isEmpty
  }

  package func run(_ sql: String, _ values: [LedgerValue] = []) throws {
    try query(sql, values) { _ in }
  }
}

/// A value that is bound to a statement.
package enum LedgerValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case text(String)
  case bytes([UInt8])

  /// The name of an account, which is empty for a library's own account.
  static func name(_ account: AccountID?) -> LedgerValue { .text(account?.rawValue ?? "") }

  /// The hash by which an account is found: the first 64 bits of the SHA-256 of its name.
  package static func hash(_ account: AccountID?) throws -> LedgerValue {
    let bytes = try Digest(of: Array((account?.rawValue ?? "").utf8)).bytes
    return .integer(bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) })
  }

  package init(_ text: String?) { self = text.map { .text($0) } ?? .null }
  package init(_ number: Int64?) { self = number.map { .integer($0) } ?? .null }
  package init(_ digest: Digest?) { self = digest.map { .bytes($0.bytes) } ?? .null }
}

/// The current row of a query; only valid in the closure.
package protocol LedgerRow {
  func isNull(_ column: Int32) -> Bool
  func integer(_ column: Int32) -> Int64
  func text(_ column: Int32) -> String
  func bytes(_ column: Int32) -> [UInt8]
}

extension LedgerRow {
  func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
  func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }
}

/// A row of a ledger cannot be read; the database adds its location.
package struct DamagedLedger: Error {
  package let cause: String

  init(_ cause: String) { self.cause = cause }
}
