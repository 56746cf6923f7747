import ContentModel

extension LedgerStatements {
  /// Records the origin `?1`; if it replaces another one, `?2` becomes the incarnation.
  package static let adoption =
    "UPDATE ledger SET incarnation = CASE WHEN origin = '' THEN incarnation ELSE ?2 END, "
    + "origin = ?1 WHERE origin <> ?1"
}

extension Ledger {
  /// Gives the ledger a new incarnation if it was restored, so that old positions are refused.
  ///
  /// `origin` identifies its database, such as `SQLiteLedger.origin`. It is evaluated when the
  /// ledger exists. A `PostgresLedger` does this itself when it connects.
  package func adopt(origin: @autoclosure () throws -> String) throws {
    try database.write { connection in
      try connection.run(
        LedgerStatements.adoption, [.text(try origin()), .text(randomIdentifier())])
    }
  }
}
