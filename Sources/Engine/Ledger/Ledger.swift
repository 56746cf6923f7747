package import HostedModel
package import FoundationEssentials

/// Records purchases: one transaction identifier has one purchase, forever.
///
/// Thread-safe; calls block. An outcome is returned after its commit is durable.
package final class Ledger: Sendable {
  let database: any LedgerDatabase
  /// Signs the receipt of a purchase, whose account's first purchase of the product is `original`.
  private let sign: Signer?

  package typealias Signer =
    @Sendable (_ purchase: PurchaseRecord, _ original: PurchaseRecord?) throws -> String

  /// Creates a ledger; without `sign`, purchases have no receipts.
  package init(_ database: any LedgerDatabase, sign: Signer? = nil) {
    self.database = database
    self.sign = sign
  }

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
      var commit = Commit(connection, sign, date, count: changes.count)
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

  /// Adds vouchers by the digests of their codes; returns how many are new.
  package func addVouchers(_ digests: [Digest], for product: ProductIdentifier?) throws -> Int {
    try database.write { connection in
      try digests.count { digest in
        try connection.hasRow(
          LedgerStatements.voucherInsertion, [.text(digest.hex), LedgerValue(product?.rawValue)])
      }
    }
  }

  // MARK: Look-ups

  /// Returns the purchase with this transaction; nil if it is unknown.
  package func purchase(_ transaction: String) throws -> PurchaseRecord? {
    try request(transaction)?.record
  }

  /// Returns the purchase with this transaction, and the digest of its request.
  package func request(_ transaction: String) throws -> (record: PurchaseRecord, digest: String)? {
    try database.read { try $0.request(transaction) } ?? nil
  }

  /// Returns up to `limit` purchases of `account` that changed after `revision`, in that order.
  ///
  /// Without `all`, only those in the state purchased that can be restored.
  package func purchases(
    account: AccountID?, after revision: Int64 = 0, limit: Int, all: Bool
  ) throws -> [PurchaseRecord] {
    try records(
      all ? LedgerStatements.history : LedgerStatements.entitlements,
      [LedgerValue(account?.rawValue), .integer(revision), .integer(Int64(limit))])
  }

  /// Returns all purchases of `account` in the state purchased, oldest first.
  package func owned(account: AccountID?) throws -> [PurchaseRecord] {
    // Sorted here, because SQLite would sort in a temporary file.
    try records(LedgerStatements.owned, [LedgerValue(account?.rawValue)])
      .sorted { $0.sequence < $1.sequence }
  }

  /// Returns the first purchase of each product of `account`, oldest first.
  package func originals(account: AccountID?) throws -> [PurchaseRecord] {
    try records(LedgerStatements.originals, [LedgerValue(account?.rawValue)])
  }

  /// Returns the first purchase of `product` by `account`; nil if it was not bought.
  package func original(of product: ProductIdentifier, account: AccountID?) throws
    -> PurchaseRecord?
  {
    try records(
      LedgerStatements.original, [LedgerValue(account?.rawValue), .text(product.rawValue)]
    ).first
  }

  /// Returns the last purchase of `product` by `account`; nil if it was not bought.
  package func latest(of product: ProductIdentifier, account: AccountID?) throws -> PurchaseRecord?
  {
    try records(LedgerStatements.latest, [LedgerValue(account?.rawValue), .text(product.rawValue)])
      .first
  }

  func records(_ sql: String, _ values: [LedgerValue]) throws -> [PurchaseRecord] {
    try database.rows(sql, values) { try PurchaseRecord($0) }
  }
}
