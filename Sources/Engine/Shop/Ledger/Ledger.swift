package import HostedModel
package import FoundationEssentials

/// Records purchases: one transaction identifier has one purchase.
///
/// Thread-safe; calls block. An outcome is returned after its commit is durable.
package final class Ledger: Sendable {
  let database: any LedgerDatabase

  package init(_ database: any LedgerDatabase) { self.database = database }

  /// Closes idle connections.
  package func close() { database.close() }

  // MARK: Changes

  /// Makes `changes` at `date` in one commit; returns one result for each, in the same order.
  ///
  /// A refused change does not affect the others. Throws if the commit fails; then, or after a
  /// crash, the same changes can be requested again.
  package func commit(_ changes: [LedgerChange], at date: Date) throws
    -> [Result<LedgerOutcome, LedgerRefusal>]
  {
    guard !changes.isEmpty else { return [] }
    let results = try database.write { connection in
      var commit = Commit(connection, date, count: changes.count)
      return try changes.map { try commit.make($0) }
    }
    guard changes.contains(where: \.isErasure) else { return results }
    do {
      try database.removeTraces()
      return results
    } catch {
      // All changes are durable, so only the erasures fail; they can be repeated.
      let refusal = LedgerRefusal.failed(ContentError(error, while: "erasing an account"))
      return zip(changes, results).map { $0.isErasure ? .failure(refusal) : $1 }
    }
  }

  /// Makes changes like `commit`; if the commit fails, it is the failure of each change.
  package func results(of changes: [LedgerChange], at date: Date)
    -> [Result<LedgerOutcome, SaleRefusal>]
  {
    do {
      return try commit(changes, at: date).map { $0.mapError { .refused($0) } }
    } catch {
      let failure = SaleRefusal.commitFailed(ContentError(error, while: "writing the ledger"))
      return changes.map { _ in .failure(failure) }
    }
  }

  /// Adds vouchers by the digests of their codes; returns how many are new.
  package func addVouchers(
    _ digests: [Digest], for product: ProductIdentifier?, at date: Date
  ) throws -> Int {
    try database.write { connection in
      try digests.count { digest in
        try connection.hasRow(
          LedgerStatements.voucherInsertion,
          [LedgerValue(digest), LedgerValue(product?.rawValue), .integer(date.milliseconds)])
      }
    }
  }

  // MARK: Look-ups

  /// Returns the purchase with this transaction; nil if it is unknown.
  package func purchase(_ transaction: String) throws -> PurchaseRecord? {
    try stored(transaction)?.record
  }

  /// Returns the purchase with this transaction; nil if it is unknown.
  ///
  /// Throws a refusal if `digest` is not that of its request, or its account was erased.
  package func purchase(_ transaction: String, requestedAs digest: Digest) throws -> PurchaseRecord?
  {
    guard let stored = try stored(transaction) else { return nil }
    try stored.check(digest)
    return stored.record
  }

  private func stored(_ transaction: String) throws -> StoredPurchase? {
    try database.read { try $0.stored(transaction) } ?? nil
  }

  /// Returns up to `limit` deferred purchases that were requested before `date`.
  package func deferred(before date: Date, limit: Int) throws -> [PurchaseRecord] {
    try records(
      LedgerStatements.deferredBefore, [.integer(date.milliseconds), .integer(Int64(limit))])
  }

  /// Returns up to twice `limit` purchases that are deleted: declined ones and finished repeats from
  /// before `short`, and interrupted ones and unfinished repeats from before `long`.
  package func ended(before short: Date, _ long: Date, limit: Int) throws -> [PurchaseRecord] {
    let values = [
      LedgerValue.integer(short.milliseconds), .integer(long.milliseconds), .integer(Int64(limit)),
    ]
    return try records(LedgerStatements.failedBefore, values)
      + records(LedgerStatements.repeatsBefore, values)
  }

  /// Returns up to `limit` sales to `account` that changed after `revision`, in that order.
  ///
  /// Without `all`, only those in the state purchased that can be restored.
  package func purchases(
    account: AccountID?, after revision: Int64 = 0, limit: Int, all: Bool
  ) throws -> [PurchaseRecord] {
    try records(
      all ? LedgerStatements.history : LedgerStatements.entitlements,
      [.name(account), .integer(revision), .integer(Int64(limit)), .hash(account)])
  }

  /// Returns all sales to `account` in the state purchased, oldest first.
  package func owned(account: AccountID?) throws -> [PurchaseRecord] {
    // Sorted here, because SQLite would sort in a temporary file.
    try records(LedgerStatements.owned, [.name(account), .hash(account)])
      .sorted { $0.sequence < $1.sequence }
  }

  /// Returns the first purchase of each product of `account`, oldest first.
  package func originals(account: AccountID?) throws -> [PurchaseRecord] {
    try records(LedgerStatements.originals, [.name(account), .hash(account)])
  }

  /// Returns the first purchase of `product` by `account`; nil if it was not bought.
  package func original(of product: ProductIdentifier, account: AccountID?) throws
    -> PurchaseRecord?
  {
    try records(
      LedgerStatements.original, [.name(account), .text(product.rawValue), .hash(account)]
    ).first
  }

  /// Returns the last purchase of `product` by `account`; nil if it was not bought.
  package func latest(of product: ProductIdentifier, account: AccountID?) throws -> PurchaseRecord?
  {
    try records(LedgerStatements.latest, [.name(account), .text(product.rawValue), .hash(account)])
      .first
  }

  func records(_ sql: String, _ values: [LedgerValue]) throws -> [PurchaseRecord] {
    try database.rows(sql, values) { try PurchaseRecord($0) }
  }
}
