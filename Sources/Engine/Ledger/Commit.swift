import HostedModel
import FoundationEssentials

/// Makes changes within one transaction of the database.
struct Commit {
  private let connection: any LedgerConnection
  private let sign: Ledger.Signer?
  /// In whole milliseconds, as it is stored.
  private let date: Date
  /// The number of changes that are left, and the next free number once numbers were taken.
  private var remaining: Int
  private var next: Int64?

  init(_ connection: any LedgerConnection, _ sign: Ledger.Signer?, _ date: Date, count: Int) {
    self.connection = connection
    self.sign = sign
    self.date = Date(milliseconds: date.milliseconds)
    remaining = count
  }

  /// Makes a change.
  ///
  /// A failure of the database ends the whole transaction, so it is thrown as itself.
  mutating func make(_ change: LedgerChange) throws -> Result<LedgerOutcome, LedgerRefusal> {
    defer { remaining -= 1 }
    do {
      switch change {
      case .purchase(let draft): return .success(try record(draft))
      case .decide(let transaction, let change):
        return .success(try decide(transaction, change))
      case .finish(let transaction): return .success(try finish(transaction))
      case .erase(let account, let replacement):
        // Locks the counter first, as all changes do, so that transactions cannot deadlock.
        _ = try takeNumber()
        try connection.run(
          LedgerStatements.erasure, [.text(account.rawValue), .text(replacement.rawValue)])
        return .success(LedgerOutcome(nil, isRepeated: false))
      case .publish:
        try addEvent(.published, of: nil, number: try takeNumber())
        return .success(LedgerOutcome(nil, isRepeated: false))
      }
    } catch let refusal as LedgerRefusal {
      return .failure(refusal)
    }
  }

  // MARK: Numbers

  /// Returns the next number.
  ///
  /// The first one locks the counter's row until the commit, so that numbers have the order of
  /// commits even if several servers write.
  private mutating func takeNumber() throws -> Int64 {
    if next == nil {
      try connection.query(LedgerStatements.numbers, [.integer(Int64(remaining))]) {
        next = $0.integer(0)
      }
    }
    guard let number = next else {
      throw DamagedLedger("the counter of the ledger is missing")
    }
    next = number + 1
    return number
  }

  // MARK: Purchases

  private func known(_ transaction: String) throws -> PurchaseRecord {
    guard let (record, _) = try connection.request(transaction) else {
      throw LedgerRefusal.unknownTransaction(transaction)
    }
    return record
  }

  private mutating func record(_ draft: PurchaseDraft) throws -> LedgerOutcome {
    if let known = try repeated(draft) { return known }
    let wasLocked = next != nil
    let number = try takeNumber()
    // Another server may have recorded it before the counter was locked.
    if !wasLocked, let known = try repeated(draft) { return known }
    var record = PurchaseRecord(draft, at: draft.importedDate ?? date, number: number)
    if record.state == .purchased {
      // Signed before the voucher is used: a refusal must not change anything.
      record.receipt = try receipt(of: record)
      if let voucher = draft.voucher, try !use(voucher, record) {
        record.state = .failed(.declined("The voucher is unknown or was used before"))
        record.receipt = nil
      }
    }
    try connection.run(
      LedgerStatements.insertion, record.values(requestDigest: draft.requestDigest))
    if record.state == .purchased { try addEvent(.purchased, of: record, number: number) }
    return LedgerOutcome(record, isRepeated: false)
  }

  /// Returns the outcome of a purchase that was recorded before, or nil.
  private func repeated(_ draft: PurchaseDraft) throws -> LedgerOutcome? {
    guard let (record, digest) = try connection.request(draft.transaction) else { return nil }
    guard digest == draft.requestDigest.hex else { throw LedgerRefusal.otherRequest(record) }
    return LedgerOutcome(record, isRepeated: true)
  }

  /// Returns whether the voucher was unused and is for this product.
  private func use(_ voucher: Digest, _ record: PurchaseRecord) throws -> Bool {
    try connection.hasRow(
      LedgerStatements.voucherUse,
      [.text(voucher.hex), .text(record.transaction), .text(record.product.rawValue)])
  }

  private func receipt(of record: PurchaseRecord) throws -> String? {
    guard let sign else { return nil }
    let original = try connection.rows(
      LedgerStatements.original,
      [LedgerValue(record.account?.rawValue), .text(record.product.rawValue)]
    ) { try PurchaseRecord($0) }.first
    do {
      return try sign(record, original)
    } catch {
      throw LedgerRefusal.failed(ContentError(error, while: "signing a receipt"))
    }
  }

  // MARK: Changes of purchases

  private mutating func decide(_ transaction: String, _ change: PurchaseChange) throws
    -> LedgerOutcome
  {
    let number = try takeNumber()
    var record = try known(transaction)
    switch record.state.applying(change, at: date) {
    case .impossible: throw LedgerRefusal.impossible(record)
    case .unchanged: return LedgerOutcome(record, isRepeated: true)
    case .changed(let state, let kind):
      record.state = state
      record.revision = number
      if change == .approve {
        record.date = date
        record.receipt = try receipt(of: record)
      }
      try connection.run(LedgerStatements.state, record.changedValues)
      try addEvent(kind, of: record, number: number)
      return LedgerOutcome(record, isRepeated: false)
    }
  }

  private mutating func finish(_ transaction: String) throws -> LedgerOutcome {
    var record = try known(transaction)
    guard record.state.canFinish else { throw LedgerRefusal.impossible(record) }
    if record.finished != nil { return LedgerOutcome(record, isRepeated: true) }
    _ = try takeNumber()
    // Read again: the state may have changed before the counter was locked.
    record = try known(transaction)
    if record.finished != nil { return LedgerOutcome(record, isRepeated: true) }
    record.finished = date
    try connection.run(LedgerStatements.state, record.changedValues)
    return LedgerOutcome(record, isRepeated: false)
  }

  private func addEvent(_ kind: LedgerEvent.Kind, of record: PurchaseRecord?, number: Int64)
    throws
  {
    try connection.run(
      LedgerStatements.eventInsertion,
      [
        .integer(number), .integer(date.milliseconds), .text(kind.rawValue),
        LedgerValue(record?.sequence),
      ])
  }
}

extension PurchaseRecord {
  fileprivate init(_ draft: PurchaseDraft, at date: Date, number: Int64) {
    self.init(
      transaction: draft.transaction, account: draft.account, product: draft.product,
      quantity: draft.quantity, state: draft.state, date: Date(milliseconds: date.milliseconds),
      contents: draft.contents, isRestorable: draft.isRestorable, price: draft.price,
      sequence: number, revision: number)
  }
}
