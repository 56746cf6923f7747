package import HostedModel
package import FoundationEssentials

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
