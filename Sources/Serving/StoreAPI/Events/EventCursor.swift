package import HostedLedger

extension LedgerPosition {
  /// The opaque text of the position: `<incarnation>.<sequence>`.
  package var cursor: String { "\(incarnation).\(sequence)" }

  /// Parses a cursor; nil for other text.
  init?(cursor text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.utf8.count <= 84, parts.count == 2, parts[0].count <= 64,
      parts[0].allSatisfy({ $0 > 0x20 && $0 < 0x7f }), !parts[0].isEmpty,
      let sequence = Int64(String(decoding: parts[1], as: UTF8.self)),
      String(sequence).utf8.elementsEqual(parts[1]), sequence >= 0
    else { return nil }
    self.init(incarnation: String(decoding: parts[0], as: UTF8.self), sequence: sequence)
  }

  /// Parses the cursor of a request; nil if it is missing or empty.
  ///
  /// Throws a problem for other text.
  static func requested(_ cursor: String?) throws -> LedgerPosition? {
    guard let cursor, !cursor.isEmpty else { return nil }
    guard let position = LedgerPosition(cursor: cursor) else {
      throw Problem.malformed("the cursor of the events is not from this API")
    }
    return position
  }
}

extension Problem {
  /// The ledger does not have all events after a cursor.
  static var cursorGone: Problem {
    refused(
      410, "The events after this cursor are not available any more",
      remedy: "Read the entitlements of the accounts, then request events without a cursor")
  }

  /// The ledger cannot be read now.
  static var ledgerUnavailable: Problem { busy("The server cannot read its ledger now") }
}
