import HostedModel

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
