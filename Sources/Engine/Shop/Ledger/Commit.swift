import FoundationEssentials
import HostedModel

/// Makes changes within one transaction of the database.
struct Commit {
  private let connection: any LedgerConnection
  /// In whole milliseconds, as it is stored.
  private let date: Date
  /// The number of changes that are left, and the next free number once numbers were taken.
  private var remaining: Int
  private var next: Int64?

  /// The maximum number of purchases of an account that wait for approval.
  private static let maximumWaiting = 20

  init(_ connection: any LedgerConnection, _ date: Date, count: Int) {
    self.connection = connection
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
      case .decide(let transaction, let change, let actor, let key):
        return .success(try decide(transaction, change, actor, key))
      case .finish(let transaction): return .success(try finish(transaction))
      case .erase(let account): return .success(try erase(account))
      case .delete(let sequence):
        _ = try takeNumber()
        try delete(sequence)
      case .publish:
        try addEvent(.published, of: nil, number: try takeNumber())
      }
      return .success(LedgerOutcome(nil, isRepeated: false))
    } catch let refusal as LedgerRefusal {
      return .failure(refusal)
    }
  }

  // MARK: Numbers

  /// Returns the next number.
  ///
  /// The first one locks the counter's row until the commit, so that numbers have the order of
  /// commits even if several servers write. All changes begin with it, so that they cannot
  /// deadlock.
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

  private func known(_ transaction: String) throws -> StoredPurchase {
    guard let stored = try connection.stored(transaction) else {
      throw LedgerRefusal.unknownTransaction(transaction)
    }
    return stored
  }

  private mutating func record(_ draft: PurchaseDraft) throws -> LedgerOutcome {
    if let known = try repeated(draft) { return known }
    let wasLocked = next != nil
    let number = try takeNumber()
    // Another server may have recorded it before the counter was locked.
    if !wasLocked, let known = try repeated(draft) { return known }
    var record = PurchaseRecord(draft, at: draft.imported?.date ?? date, number: number)
    let sale = try original(of: draft)
    if let sale {
      record.repeats(sale)
    } else {
      try checkWaiting(record)
      if draft.usesVoucher { record.state = try paid(record.state, by: draft.voucher, record) }
    }
    try insert(record, draft, original: sale?.sequence)
    if sale == nil, record.state == .purchased {
      try addEvent(.purchased, of: record.sequence, number: number, actor: draft.actor)
    }
    return LedgerOutcome(record, isRepeated: false)
  }

  /// Returns the outcome of a purchase that was recorded before, or nil.
  private func repeated(_ draft: PurchaseDraft) throws -> LedgerOutcome? {
    guard let known = try connection.stored(draft.transaction) else { return nil }
    try known.check(draft.requestDigest)
    return LedgerOutcome(known.record, isRepeated: true)
  }

  /// Returns the sale that a purchase repeats; nil for a sale.
  private func original(of draft: PurchaseDraft) throws -> PurchaseRecord? {
    if let imported = draft.imported {
      return try imported.original.map { try sale($0, of: draft) }
    }
    guard draft.isSoldOnce else { return nil }
    return try connection.original(of: draft.product, account: draft.account)
  }

  /// Returns the sale that an imported purchase repeats.
  private func sale(_ transaction: String, of draft: PurchaseDraft) throws -> PurchaseRecord {
    let sale = try known(transaction).record
    guard sale.account == draft.account, sale.product == draft.product else {
      throw LedgerRefusal.otherRequest(sale)
    }
    // The ledger may have sold it before the import.
    return try sale.original.map { try known($0.transaction).record } ?? sale
  }

  private func insert(_ record: PurchaseRecord, _ draft: PurchaseDraft, original: Int64?) throws {
    let values = try record.values(of: draft, original: original) + [.hash(record.account)]
    if try connection.hasRow(LedgerStatements.insertion, values) { return }
    try connection.run(
      LedgerStatements.accountInsertion,
      [.name(record.account), .hash(record.account), .text(Self.newAlias())])
    guard try connection.hasRow(LedgerStatements.insertion, values) else {
      throw DamagedLedger("the accounts of the ledger are missing")
    }
  }

  /// A caller must not make the ledger grow without a decision.
  private func checkWaiting(_ record: PurchaseRecord) throws {
    guard record.state == .deferred(.approval) else { return }
    var count: Int64 = 0
    try connection.query(LedgerStatements.waiting, [.name(record.account), .hash(record.account)]) {
      count = $0.integer(0)
    }
    if count >= Self.maximumWaiting { throw LedgerRefusal.tooManyWaiting(Self.maximumWaiting) }
  }

  /// Returns the state after a voucher was used or, for a deferred purchase, reserved.
  private func paid(_ state: PurchaseState, by voucher: Digest?, _ record: PurchaseRecord) throws
    -> PurchaseState
  {
    guard let voucher else { return state }
    let used: LedgerValue
    switch state {
    case .purchased: used = .integer(date.milliseconds)
    case .deferred: used = .null
    case .failed, .refunded, .revoked: return state
    }
    let isFree = try connection.hasRow(
      LedgerStatements.voucherUse,
      [
        LedgerValue(voucher), .text(record.transaction), .text(record.product.rawValue), used,
        .integer(date.milliseconds),
      ])
    return isFree
      ? state : .failed(.declined("The voucher is unknown, expired, revoked or was used before"))
  }

  private func release(_ voucher: Digest?, of transaction: String) throws {
    guard let voucher else { return }
    try connection.run(
      LedgerStatements.voucherRelease, [LedgerValue(voucher), .text(transaction)])
  }

  // MARK: Changes of purchases

  private mutating func decide(
    _ transaction: String, _ change: PurchaseChange, _ actor: String?, _ key: String?
  ) throws -> LedgerOutcome {
    let number = try takeNumber()
    let stored = try known(transaction)
    if let key, let actor, let kind = try requestedKind(stored, actor, key) {
      guard change.isReported(as: kind) else { throw LedgerRefusal.otherChange }
      return LedgerOutcome(stored.record, isRepeated: true)
    }
    switch stored.record.state.applying(change, at: date) {
    case .impossible: throw LedgerRefusal.impossible(stored.record)
    case .unchanged: return LedgerOutcome(stored.record, isRepeated: true)
    case .needsDecision:
      guard let sale = try ownedSale(stored.record) else {
        throw LedgerRefusal.needsDecision(stored.record, hasVoucher: stored.voucher != nil)
      }
      return try convert(stored, to: sale, .decided, number, actor, key)
    case .changed(let state, let kind):
      // Another purchase was faster than the payment, or than the deciders.
      if state == .purchased, kind != .reversed, let sale = try ownedSale(stored.record) {
        return try convert(stored, to: sale, kind, number, actor, key)
      }
      return try apply(change, state, kind, to: stored, number, actor, key)
    }
  }

  /// Returns the kind of the event that this actor has requested with this key; nil for none.
  private func requestedKind(_ stored: StoredPurchase, _ actor: String, _ key: String) throws
    -> LedgerEvent.Kind?
  {
    let events = try connection.rows(
      LedgerStatements.requestedEvent, [.text(actor), .text(key)]
    ) { (kind: LedgerEvent.Kind(rawValue: $0.text(0)), purchase: $0.optionalInteger(1)) }
    guard let event = events.first else { return nil }
    // The event of an approval that made a repeat belongs to the repeat.
    guard [stored.sale, stored.record.sequence].contains(event.purchase), let kind = event.kind
    else { throw LedgerRefusal.otherChange }
    return kind
  }

  /// Returns the sale to the same account; nil if the product is not sold once or not owned.
  private func ownedSale(_ record: PurchaseRecord) throws -> PurchaseRecord? {
    record.isSoldOnce
      ? try connection.original(of: record.product, account: record.account) : nil
  }

  /// Makes an approved purchase a repeat, because its account owns the product by now.
  private func convert(
    _ stored: StoredPurchase, to sale: PurchaseRecord, _ kind: LedgerEvent.Kind, _ number: Int64,
    _ actor: String?, _ key: String?
  ) throws -> LedgerOutcome {
    try release(stored.voucher, of: stored.record.transaction)
    var record = stored.record
    record.repeats(sale)
    record.revision = number
    record.date = date
    try connection.run(
      LedgerStatements.conversion, [.integer(record.sequence), .integer(sale.sequence)])
    try connection.run(LedgerStatements.state, record.changedValues(by: actor, at: date))
    try addEvent(kind, of: record.sequence, number: number, actor: actor, key: key)
    return LedgerOutcome(record, isRepeated: false)
  }

  private func apply(
    _ change: PurchaseChange, _ state: PurchaseState, _ kind: LedgerEvent.Kind,
    to stored: StoredPurchase, _ number: Int64, _ actor: String?, _ key: String?
  ) throws -> LedgerOutcome {
    // A change that names a repeat changes its sale, and all its repeats with it.
    var record = stored.record
    if let sale = stored.original {
      let found = try connection.rows(LedgerStatements.sequence, [.integer(sale)]) {
        try PurchaseRecord($0)
      }
      guard let found = found.first else {
        throw DamagedLedger("the sale of transaction \(record.transaction) is missing")
      }
      record = found
    }
    record.revision = number
    record.state = state
    if case .decide(let decision) = change {
      record.price = decision.price ?? record.price
      record.reference = decision.reference ?? record.reference
      if decision.usesVoucher {
        record.state = try paid(state, by: stored.voucher, record)
      } else {
        try release(stored.voucher, of: record.transaction)
      }
    }
    switch record.state {
    case .purchased where kind == .decided || kind == .decidedAfterInterruption:
      record.date = date
    case .failed: try release(stored.voucher, of: record.transaction)
    case .purchased, .deferred, .refunded, .revoked: break
    }
    let values = record.changedValues(by: actor, at: date)
    try connection.run(LedgerStatements.state, values)
    switch kind {
    case .refunded, .revoked, .reversed:
      try connection.run(LedgerStatements.repeats, Array(values.prefix(5)))
    case .purchased, .decided, .declined, .decidedAfterInterruption, .published: break
    }
    try addEvent(kind, of: record.sequence, number: number, actor: actor, key: key)
    guard stored.original != nil else { return LedgerOutcome(record, isRepeated: false) }
    var named = stored.record
    (named.state, named.revision) = (record.state, record.revision)
    return LedgerOutcome(named, isRepeated: false)
  }

  private mutating func finish(_ transaction: String) throws -> LedgerOutcome {
    var record = try known(transaction).record
    guard record.state.canFinish else { throw LedgerRefusal.impossible(record) }
    if record.finished != nil { return LedgerOutcome(record, isRepeated: true) }
    _ = try takeNumber()
    // Read again: the state may have changed before the counter was locked.
    record = try known(transaction).record
    if record.finished != nil { return LedgerOutcome(record, isRepeated: true) }
    record.finished = date
    try connection.run(
      LedgerStatements.finish, [.integer(record.sequence), .integer(date.milliseconds)])
    return LedgerOutcome(record, isRepeated: false)
  }

  private mutating func erase(_ account: AccountID) throws -> LedgerOutcome {
    _ = try takeNumber()
    var outcome = LedgerOutcome(nil, isRepeated: false)
    let filler = String(repeating: "-", count: account.rawValue.utf8.count)
    let values: [LedgerValue] = [
      .name(account), try .hash(account), .text(filler), .integer(.random(in: .min ... .max)),
    ]
    let found = try connection.rows(LedgerStatements.accountErasure, values) { $0.integer(0) }
    guard let number = found.first else { return outcome }
    try connection.query(LedgerStatements.saleCount, [.integer(number)]) {
      outcome.sales = Int($0.integer(0))
    }
    try connection.run(
      LedgerStatements.purchaseErasure, [.integer(number), LedgerValue(Digest.zero)])
    return outcome
  }

  private func delete(_ sequence: Int64) throws {
    if try connection.hasRow(LedgerStatements.deletion, [.integer(sequence)]) {
      try connection.run(LedgerStatements.eventsDeletion, [.integer(sequence)])
    }
  }

  /// Returns a name that cannot be guessed, for an account after its erasure.
  private static func newAlias() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

  private func addEvent(
    _ kind: LedgerEvent.Kind, of purchase: Int64?, number: Int64, actor: String? = nil,
    key: String? = nil
  ) throws {
    try connection.run(
      LedgerStatements.eventInsertion,
      [
        .integer(number), .integer(date.milliseconds), .text(kind.rawValue),
        LedgerValue(purchase), LedgerValue(actor), LedgerValue(key),
      ])
  }
}

extension StoredPurchase {
  /// Throws a refusal if the purchase was requested differently, or its account was erased.
  func check(_ digest: Digest) throws {
    guard let request else { throw LedgerRefusal.erased }
    guard request == digest else { throw LedgerRefusal.otherRequest(record) }
  }
}

extension PurchaseRecord {
  fileprivate init(_ draft: PurchaseDraft, at date: Date, number: Int64) {
    self.init(
      transaction: draft.transaction, account: draft.account, product: draft.product,
      quantity: draft.quantity, state: draft.state, date: Date(milliseconds: date.milliseconds),
      contents: draft.contents, isRestorable: draft.isRestorable, isSoldOnce: draft.isSoldOnce,
      price: draft.price, reference: draft.reference, finished: draft.imported?.finished,
      sequence: number, revision: number)
  }

  /// Makes this purchase a free repeat of `sale`.
  fileprivate mutating func repeats(_ sale: PurchaseRecord) {
    original = Original(transaction: sale.transaction, date: sale.date)
    state = sale.state
    price = price.map { SoldPrice(milliunits: 0, currency: $0.currency) }
    reference = nil
  }
}
