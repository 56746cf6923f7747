package import FoundationEssentials
import HostedModel

/// When a ledger ends and deletes purchases that are not sales, so that it does not grow with
/// requests.
package struct PurchaseEnds: Hashable, Sendable {
  /// When a purchase without a decision is declined, and when an interrupted one and an
  /// unfinished repeat are deleted.
  package var waiting: Duration = .seconds(90 * 86_400)
  /// When a declined purchase and a finished repeat are deleted.
  package var ended: Duration = .seconds(30 * 86_400)

  package init() {}

  /// The number of purchases that are looked up together.
  private static let batch = 200

  /// Ends what is due at `now`; returns whether something was declined, which is an event.
  package func apply(to ledger: Ledger, at now: Date) throws -> Bool {
    let long = now.addingTimeInterval(-waiting.inSeconds)
    let short = now.addingTimeInterval(-ended.inSeconds)
    let isDeclined = try repeated(ledger, at: now) {
      try ledger.deferred(before: long, limit: Self.batch).map {
        .decide(
          transaction: $0.transaction, .decline(reason: "It was not decided in time"),
          actor: "clock")
      }
    }
    _ = try repeated(ledger, at: now) {
      try ledger.ended(before: short, long, limit: Self.batch).map {
        .delete(sequence: $0.sequence)
      }
    }
    return isDeclined
  }

  /// Makes the changes that `next` returns until it returns none; returns whether some were made.
  ///
  /// Ends, too, if all of them are refused, because another server was faster.
  private func repeated(_ ledger: Ledger, at now: Date, _ next: () throws -> [LedgerChange]) throws
    -> Bool
  {
    var isChanged = false
    while true {
      let changes = try next()
      guard !changes.isEmpty else { return isChanged }
      let results = try ledger.commit(changes, at: now)
      guard results.contains(where: { (try? $0.get())?.isRepeated == false }) else {
        return isChanged
      }
      isChanged = true
    }
  }
}
