package import FoundationEssentials
package import HostedModel

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

  /// Returns up to twice `limit` purchases that are deleted.
  ///
  /// They are declined ones and finished repeats from before `short`, and interrupted ones and
  /// unfinished repeats from before `long`.
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
    try database.read { try $0.original(of: product, account: account) } ?? nil
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

/// What a key of the store server may do.
package enum KeyScope: String, Hashable, Sendable, CaseIterable {
  case read, purchase, content, report, publish, admin
}

/// A key of the store server; secrets are not stored.
package struct APIKey: Hashable, Sendable {
  package let kid: String
  /// The account of requests without an account; a rotated key keeps it.
  package let account: AccountID
  package let credential: Credential
  package let scopes: Set<KeyScope>
  package let created: Date
  package let notAfter: Date?
  package let revoked: Date?

  /// How a caller proves that it has the key.
  package enum Credential: Hashable, Sendable {
    /// The SHA-256 of an opaque token.
    case token(Digest)
    /// The public key, in PEM form, that verifies the caller's JWTs.
    case publicKey(pem: String)
  }

  package init(
    kid: String, account: AccountID, _ credential: Credential, scopes: Set<KeyScope>, created: Date,
    notAfter: Date? = nil, revoked: Date? = nil
  ) {
    self.kid = kid
    self.account = account
    self.credential = credential
    self.scopes = scopes
    self.created = created
    self.notAfter = notAfter
    self.revoked = revoked
  }

  /// Whether the key can be used at `date`.
  package func isUsable(at date: Date) -> Bool {
    revoked == nil && notAfter.map { date < $0 } ?? true
  }
}

extension APIKey {
  /// The start of each `kid`, and of each account named after one, which requests cannot name.
  package static let prefix = "key-"

  /// Returns whether an account is named after a key.
  package static func names(_ account: AccountID) -> Bool {
    account.rawValue.beginsWithBytes(of: prefix[...])
  }
}

extension PurchaseRecord {
  /// The account as clients see it; nil for one that is named after a key.
  ///
  /// That is the own account of a service's library.
  package var namedAccount: AccountID? { account.flatMap { APIKey.names($0) ? nil : $0 } }
}

extension Ledger {
  /// Adds a key; returns false if its `kid` or its token exists.
  package func add(_ key: APIKey) throws -> Bool {
    try changesRow(LedgerStatements.keyInsertion, key.values)
  }

  /// Returns all keys, oldest first.
  package func keys() throws -> [APIKey] { try keys(LedgerStatements.keys, []) }

  package func key(_ kid: String) throws -> APIKey? {
    try keys(LedgerStatements.key, [.text(kid)]).first
  }

  package func key(ofToken digest: Digest) throws -> APIKey? {
    try keys(LedgerStatements.keyOfToken, [LedgerValue(digest)]).first
  }

  /// Revokes a key at once; returns false if it does not exist or was revoked.
  package func revokeKey(_ kid: String, at date: Date) throws -> Bool {
    try changesRow(LedgerStatements.keyRevocation, [.text(kid), .integer(date.milliseconds)])
  }

  /// Lets a key expire at `date`, after its successor was distributed.
  ///
  /// Returns false as `revokeKey` does.
  package func expireKey(_ kid: String, at date: Date) throws -> Bool {
    try changesRow(LedgerStatements.keyExpiry, [.text(kid), .integer(date.milliseconds)])
  }

  // MARK: Receipt keys

  /// A key with which servers of this ledger sign receipts, or did so.
  package struct ReceiptKey: Hashable, Sendable {
    /// The SHA-256 of the public key in PEM form.
    package let digest: Digest
    package let added: Date
    /// Nil while it may be used.
    package let retired: Date?
  }

  /// Returns the keys for receipts, oldest first.
  package func receiptKeys() throws -> [ReceiptKey] {
    try database.rows(LedgerStatements.receiptKeys, []) { row in
      guard let digest = Digest(bytes: row.bytes(0)) else {
        throw DamagedLedger("the digest of a receipt key is invalid")
      }
      return ReceiptKey(
        digest: digest, added: Date(milliseconds: row.integer(1)),
        retired: row.optionalInteger(2).map(Date.init(milliseconds:)))
    }
  }

  /// Lets servers sign with a key from now on.
  package func addReceiptKey(_ digest: Digest, at date: Date) throws {
    try database.write {
      try $0.run(
        LedgerStatements.receiptKeyInsertion, [LedgerValue(digest), .integer(date.milliseconds)])
    }
  }

  /// Ends the use of a key at the next start of a server; returns false if it is not in use.
  package func retireReceiptKey(_ digest: Digest, at date: Date) throws -> Bool {
    try changesRow(
      LedgerStatements.receiptKeyRetirement, [LedgerValue(digest), .integer(date.milliseconds)])
  }

  private func changesRow(_ sql: String, _ values: [LedgerValue]) throws -> Bool {
    try database.write { try $0.hasRow(sql, values) }
  }

  private func keys(_ sql: String, _ values: [LedgerValue]) throws -> [APIKey] {
    try database.rows(sql, values) { try APIKey($0) }
  }
}

extension APIKey {
  fileprivate init(_ row: any LedgerRow) throws {
    let token = row.isNull(2) ? nil : Digest(bytes: row.bytes(2)).map(Credential.token)
    guard let credential = token ?? row.optionalText(3).map({ .publicKey(pem: $0) }) else {
      throw DamagedLedger("the key \(row.text(0)) is invalid")
    }
    self.init(
      kid: row.text(0), account: AccountID(rawValue: row.text(1)), credential,
      scopes: Set(row.text(4).split(separator: ",").compactMap { KeyScope(rawValue: String($0)) }),
      created: Date(milliseconds: row.integer(5)),
      notAfter: row.optionalInteger(6).map(Date.init(milliseconds:)),
      revoked: row.optionalInteger(7).map(Date.init(milliseconds:)))
  }

  fileprivate var values: [LedgerValue] {
    let (token, pem): (LedgerValue, LedgerValue) =
      switch credential {
      case .token(let digest): (LedgerValue(digest), .null)
      case .publicKey(let pem): (.null, .text(pem))
      }
    return [
      .text(kid), .text(account.rawValue), token, pem,
      .text(scopes.map(\.rawValue).sorted().joined(separator: ",")),
      .integer(created.milliseconds), LedgerValue(notAfter?.milliseconds),
      LedgerValue(revoked?.milliseconds),
    ]
  }
}

/// The result of an import of purchases.
package struct ImportSummary: Hashable, Sendable {
  /// The number of new purchases.
  package var imported = 0
  /// The number of purchases that the ledger already had.
  package var known = 0
  /// The transactions that the ledger has for another purchase.
  package var conflicts: [String] = []
}

extension Ledger {
  private static let importBatch: Int64 = 500

  /// Adds all purchases of another ledger; safe to repeat.
  ///
  /// `ownAccount` replaces the account of purchases by the source library's own account.
  package func addPurchases(
    of source: Ledger, ownAccount: AccountID?, at date: Date
  ) throws -> ImportSummary {
    var summary = ImportSummary()
    // An approved purchase can be older than the sale that it repeats.
    var early: [PurchaseRecord] = []
    func add(_ records: ArraySlice<PurchaseRecord>, isLast: Bool) throws {
      let changes = try records.map { LedgerChange.purchase(try PurchaseDraft(imported: $0)) }
      for (record, result) in zip(records, try commit(changes, at: date)) {
        if !isLast, case .failure(.unknownTransaction) = result {
          early.append(record)
        } else {
          try summary.add(record, result)
        }
      }
    }
    var last: Int64 = 0
    while true {
      var records = try source.records(
        LedgerStatements.all, [.integer(last), .integer(Self.importBatch)])
      guard let end = records.last?.sequence else { break }
      last = end
      for index in records.indices where records[index].account == nil {
        records[index].account = ownAccount
      }
      try add(records[...], isLast: false)
    }
    while !early.isEmpty {
      let batch = early.prefix(Int(Self.importBatch))
      try add(batch, isLast: true)
      early.removeFirst(batch.count)
    }
    return summary
  }

  /// Whether the ledger has purchases by the library's own account.
  package func hasOwnPurchases() throws -> Bool {
    try !purchases(account: nil, limit: 1, all: true).isEmpty
  }
}

extension ImportSummary {
  fileprivate mutating func add(
    _ record: PurchaseRecord, _ result: Result<LedgerOutcome, LedgerRefusal>
  ) throws {
    switch result {
    case .success(let outcome): if outcome.isRepeated { known += 1 } else { imported += 1 }
    case .failure(.otherRequest(let other)):
      if other.isSameSale(as: record) { known += 1 } else { conflicts.append(record.transaction) }
    case .failure(.failed(let error)): throw error
    case .failure:
      conflicts.append(record.transaction)
    }
  }
}

extension PurchaseRecord {
  fileprivate func isSameSale(as other: PurchaseRecord) -> Bool {
    account == other.account && product == other.product
      && quantity == other.quantity
  }
}

extension PurchaseDraft {
  /// The digest is that of the request that the buyer's queue repeats.
  fileprivate init(imported record: PurchaseRecord) throws {
    self.init(
      transaction: record.transaction, account: record.account, product: record.product,
      quantity: record.quantity,
      requestDigest: try PurchaseRequest(
        transaction: TransactionID(rawValue: record.transaction), account: record.account,
        productIdentifier: record.product, quantity: record.quantity
      ).digest,
      state: record.state,
      contents: record.contents, isRestorable: record.isRestorable,
      isSoldOnce: record.isSoldOnce, price: record.price, reference: record.reference,
      actor: "import",
      imported: Imported(
        date: record.date, finished: record.finished, original: record.original?.transaction))
  }
}
