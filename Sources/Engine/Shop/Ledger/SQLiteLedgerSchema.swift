import HostedModel
import HostedDatabase

/// Creates the tables of a ledger in SQLite, and recognizes such a file.
enum SQLiteLedgerSchema {
  /// `PRAGMA application_id` of a ledger: “HCLe”.
  static let applicationIdentifier = 0x4843_4C65

  /// Creates the tables in an empty file if `creating`, and configures commits.
  ///
  /// Returns false for an empty file without `creating`. Throws `ledgerFailed`, and does not change
  /// the file, if it is not a ledger or has another version.
  static func prepare(
    _ connection: borrowing SQLiteConnection, path: String, creating: Bool, lockTimeout: Int
  ) throws -> Bool {
    let isKnown = try isKnown(connection, path)
    guard isKnown || creating else { return false }
    // Deleted and replaced values must not stay in the file, and copies of names neither.
    try connection.execute(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY")
    guard !isKnown else { return true }
    // This cannot be changed in a transaction.
    try connection.useWriteAheadLog(timeout: lockTimeout)
    try connection.transaction { connection in
      // Another process may have created the tables in the meantime.
      guard try !Self.isKnown(connection, path) else { return }
      for statement in LedgerSchema.tables(integer: "INTEGER", bytes: "BLOB", suffix: " STRICT") {
        try connection.execute(statement)
      }
      try connection.run(LedgerSchema.firstRow, [.text(randomIdentifier()), .text("")])
      try connection.run(LedgerSchema.ownAccount, [try LedgerValue.hash(nil).value])
      try connection.execute(
        "PRAGMA application_id = \(applicationIdentifier); "
          + "PRAGMA user_version = \(LedgerSchema.version)")
    }
    return true
  }

  /// Whether the file is a ledger of this version; false if it is empty.
  private static func isKnown(_ connection: borrowing SQLiteConnection, _ path: String) throws
    -> Bool
  {
    let found = try connection.header()
    let isLedger = found.application == applicationIdentifier
    if isLedger, found.version == LedgerSchema.version { return true }
    guard !isLedger else {
      throw ContentError(
        .ledgerFailed,
        "The ledger \(path) has schema \(found.version); "
          + "this version reads \(LedgerSchema.version)",
        remedy: "Use the version of the software that wrote it", subject: path)
    }
    guard found == (0, 0, 0) else {
      throw ContentError(
        .ledgerFailed, "\(path) is a database, but not a ledger",
        remedy: "Choose another file for the ledger, or restore the correct file from a backup",
        subject: path)
    }
    return false
  }
}
