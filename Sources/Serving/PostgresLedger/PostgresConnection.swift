import HostedCPostgreSQL
import HostedShop
import HostedModel

/// One connection to PostgreSQL, the only type that uses its handle.
///
/// It has no lock: the pool lends it to one thread at a time. After an error it must not be used
/// again; its end rolls back an open transaction.
// Unchecked, because libpq allows any thread to use a connection, one at a time.
final class PostgresConnection: LedgerConnection, @unchecked Sendable {
  /// The name of the database, for messages.
  let name: String
  private let handle: OpaquePointer
  private let willRun: PostgresLedger.Step?
  /// The names of prepared statements, by their SQL.
  private var prepared: [String: String] = [:]
  /// The number of requests that succeeded since the pool lent it.
  var successes = 0
  /// Whether the database has a ledger of this version.
  var isLedger = false

  /// Connects.
  init(_ address: PostgresAddress, _ willRun: PostgresLedger.Step?) throws {
    guard let handle = address.connect() else { throw PostgresFailure(words: "out of memory") }
    name = address.name
    self.handle = handle
    self.willRun = willRun
    guard PQstatus(handle) == CONNECTION_OK else { throw failure() }
    hc_pq_ignore_notices(handle)
    // A server that hangs must not keep others from writing. An operator's default may be
    // `synchronous_commit = off`.
    try execute(
      "SET synchronous_commit = on; SET statement_timeout = '60s'; "
        + "SET idle_in_transaction_session_timeout = '60s'")
  }

  deinit { PQfinish(handle) }

  // MARK: Statements

  /// Runs statements without values, and returns the server's word for the last one.
  @discardableResult
  func execute(_ sql: String) throws -> String {
    try willRun?(sql)
    let result = try check(PQexec(handle, sql))
    return String(cString: PQcmdStatus(result.handle))
  }

  func query(_ sql: String, _ values: [LedgerValue], row body: (any LedgerRow) throws -> Void)
    throws
  {
    try willRun?(sql)
    let texts = try values.map(Self.text)
    let statement = try prepare(sql)
    let result = try check(
      withCStrings(texts) {
        PQexecPrepared(handle, statement, Int32($0.count), $0, nil, nil, 0)
      })
    for number in 0..<PQntuples(result.handle) { try body(Row(result: result, number: number)) }
  }

  /// Runs `body` as one transaction; it is durable when the call returns.
  func transaction<Value>(_ body: () throws -> Value) throws -> Value {
    try execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    let value = try body()
    // A failed transaction is rolled back without an error.
    guard try execute("COMMIT") == "COMMIT" else {
      throw PostgresFailure(words: "the transaction was rolled back")
    }
    return value
  }

  private func prepare(_ sql: String) throws -> String {
    if let statement = prepared[sql] { return statement }
    let statement = "s\(prepared.count)"
    let text = sql.replacing("?", with: "$")
    _ = try check(PQprepare(handle, statement, text, 0, nil))
    prepared[sql] = statement
    return statement
  }

  private static func text(_ value: LedgerValue) throws -> String? {
    switch value {
    case .null: return nil
    case .integer(let number): return String(number)
    case .bytes(let bytes): return "\\x" + Hexadecimal.text(of: bytes)
    case .text(let text):
      guard !text.utf8.contains(0) else {
        throw ContentError(
          .usage, "PostgreSQL cannot store “\(text.printable(limit: 60))”: it contains a zero byte",
          remedy: "Remove the byte")
      }
      return text
    }
  }

  // MARK: Results

  private func check(_ result: OpaquePointer?) throws -> StatementResult {
    guard let result else { throw failure() }
    let checked = StatementResult(result)
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK: successes += 1
    default: throw failure(checked)
    }
    return checked
  }

  private func failure(_ result: StatementResult? = nil) -> PostgresFailure {
    let state = result.flatMap { hc_pq_state($0.handle) }.map { String(cString: $0) }
    // The other words of the server may contain values of rows.
    let message = result.flatMap { hc_pq_message($0.handle) }.map { String(cString: $0) }
    return PostgresFailure(
      words: message ?? String(cString: PQerrorMessage(handle)), state: state,
      isDisconnected: PQstatus(handle) != CONNECTION_OK)
  }

  /// The result of a statement.
  private final class StatementResult {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }
  }

  private struct Row: LedgerRow {
    let result: StatementResult
    let number: Int32

    func isNull(_ column: Int32) -> Bool { PQgetisnull(result.handle, number, column) != 0 }

    func integer(_ column: Int32) -> Int64 { Int64(text(column)) ?? 0 }

    /// Bytes begin with `\x`, and have two digits each.
    func bytes(_ column: Int32) -> [UInt8] {
      Hexadecimal.bytes(of: String(text(column).utf8.dropFirst(2)) ?? "") ?? []
    }

    func text(_ column: Int32) -> String {
      let count = Int(PQgetlength(result.handle, number, column))
      let bytes = UnsafeRawBufferPointer(
        start: PQgetvalue(result.handle, number, column), count: count)
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}

/// A failed connection or statement.
struct PostgresFailure: Error {
  /// The words of the server or of libpq.
  let words: String
  /// The SQLSTATE; nil if the server did not report the failure.
  var state: String?
  /// Whether the connection is lost.
  var isDisconnected = false

  /// Whether the transaction was rolled back because of another one, and can be repeated.
  var isConflict: Bool { state == "40001" || state == "40P01" }

  /// Returns the error for the database `name`.
  func error(_ name: String) -> ContentError {
    let line = words.split { $0.isWhitespace }.joined(separator: " ").printable(limit: 500)
    func error(_ code: ContentError.Code, _ failure: String, _ remedy: String) -> ContentError {
      ContentError(
        code, "\(failure) the ledger in the database \(name)", remedy: remedy, subject: name,
        cause: "PostgreSQL\(state.map { " " + $0 } ?? ""): \(line)")
    }
    switch state ?? "" {
    case "42501":
      return error(
        .notPermitted, "Cannot use", "Let its role create and change tables in the schema")
    case "42P07":
      return error(
        .ledgerFailed, "Cannot create",
        "Use another database, or another schema with ?options=-csearch_path%3DSCHEMA")
    case "53100":
      return error(
        .diskFull, "No space left to write",
        "Free space on the database's file system and try again")
    case _ where isDisconnected:
      return error(
        .ledgerFailed, "Cannot reach",
        "Check that PostgreSQL runs and accepts this user and password. Then try again with the "
          + "same identifiers, because a change in progress may have been recorded")
    default:
      return error(
        .ledgerFailed, "Cannot read or write", "Check the log of PostgreSQL, then try again")
    }
  }
}
