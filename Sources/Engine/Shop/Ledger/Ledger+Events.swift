import HostedModel
package import FoundationEssentials

/// A position in the events of a ledger.
package struct LedgerPosition: Hashable, Sendable {
  /// Identifies the ledger; a restored ledger has another.
  package let incarnation: String
  /// The number of the last event that was delivered.
  package let sequence: Int64

  package init(incarnation: String, sequence: Int64) {
    self.incarnation = incarnation
    self.sequence = sequence
  }
}

/// The state of a ledger's numbers.
package struct LedgerHead: Hashable, Sendable {
  package let incarnation: String
  /// The last number that was assigned.
  package let last: Int64
  /// Events up to this number were deleted.
  package let pruned: Int64

  /// The position after all events.
  package var position: LedgerPosition {
    LedgerPosition(incarnation: incarnation, sequence: last)
  }

  /// Whether all events after `position` are available.
  package func has(_ position: LedgerPosition) -> Bool {
    position.incarnation == incarnation && position.sequence >= pruned && position.sequence <= last
  }
}

/// An event of a ledger.
package struct LedgerEvent: Hashable, Sendable {
  /// Its number, in commit order.
  package let sequence: Int64
  package let date: Date
  package let kind: Kind
  /// Who has decided: a key, a decider or the clock; nil if it is not known.
  package let actor: String?
  /// The purchase as it is now; nil for events that do not concern a purchase.
  package var purchase: PurchaseRecord?

  /// The kinds of events.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A product was sold at once.
    case purchased
    /// A deferred purchase was approved; the deciders may still have declined it.
    case decided
    /// A deferred purchase was declined.
    case declined
    /// An interrupted purchase, which the buyer's queue has reported as failed, was approved.
    case decidedAfterInterruption = "decided-after-interruption"
    case refunded
    case revoked
    /// A refund or a revocation was undone.
    case reversed
    /// The store's catalog has changed.
    case published
  }
}

extension Ledger {
  /// Returns the state of the numbers; nil if the ledger does not exist.
  package func head() throws -> LedgerHead? {
    try database.rows(LedgerStatements.head, []) {
      LedgerHead(
        incarnation: $0.text(0), last: $0.integer(1), pruned: $0.integer(2))
    }.first
  }

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

  /// Returns up to `limit` events after a number, in commit order.
  package func events(after sequence: Int64, limit: Int) throws -> [LedgerEvent] {
    try database.rows(LedgerStatements.events, [.integer(sequence), .integer(Int64(limit))]) {
      row in
      guard let kind = LedgerEvent.Kind(rawValue: row.text(2)) else {
        throw DamagedLedger("the kind of event \(row.integer(0)) is invalid")
      }
      return LedgerEvent(
        sequence: row.integer(0), date: Date(milliseconds: row.integer(1)), kind: kind,
        actor: row.optionalText(3),
        purchase: row.isNull(4) ? nil : try PurchaseRecord(row, from: 5))
    }
  }

  /// Deletes the oldest events, but not the first one with a date from `date` to `now` and those
  /// after it.
  ///
  /// An event that stays has a larger number than all deleted ones, even if a clock was set back.
  /// A date after `now` is from a clock that was ahead: such an event is deleted with a later one
  /// that is before `date`.
  package func pruneEvents(before date: Date, now: Date) throws {
    try database.write { connection in
      let dates = [LedgerValue.integer(date.milliseconds), .integer(now.milliseconds)]
      let found = try connection.rows(LedgerStatements.lastOldEvent, dates) { $0.integer(0) }
      guard let last = found.first else { return }
      try connection.run(LedgerStatements.eventDeletion, [.integer(last)])
      try connection.run(LedgerStatements.pruned, [.integer(last)])
    }
  }
}
