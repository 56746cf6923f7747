package import HostedModel
package import FoundationEssentials
package import HostedShop

/// A ledger in memory that behaves as `Ledger` must; without imports.
///
/// The simulation sells with it.
package struct LedgerModel: Sendable {
  package private(set) var purchases: [String: Entry] = [:]
  /// The events by number.
  package private(set) var events: [Event] = []
  private var nextNumber: Int64 = 1
  /// The next number of the current commit, once it has taken one.
  private var next: Int64?
  /// The purchase that has reserved or used a voucher; empty for an unused one.
  private var vouchers: [Digest: Holder]

  private struct Holder {
    var transaction: String?
    var isUsed = false
  }

  package struct Entry: Sendable {
    package var record: PurchaseRecord
    /// The digest of the request; nil after the account was erased.
    var digest: Digest?
    var voucher: Digest?
  }

  package struct Event: Sendable {
    package let sequence: Int64
    package let kind: LedgerEvent.Kind
    package let transaction: String?
    package var actor: String?
    /// The key and the name of the change that has requested it.
    fileprivate var key: String?
    fileprivate var change: String?
  }

  package init(vouchers: Set<Digest> = []) {
    self.vouchers = Dictionary(uniqueKeysWithValues: vouchers.map { ($0, Holder()) })
  }

  /// Makes `changes`, as `Ledger.commit` does.
  package mutating func commit(_ changes: [LedgerChange], at date: Date)
    -> [Result<LedgerOutcome, LedgerRefusal>]
  {
    next = nil
    return changes.enumerated().map { position, change in
      do throws(LedgerRefusal) {
        return .success(try make(change, date, remaining: changes.count - position))
      } catch {
        return .failure(error)
      }
    }
  }

  /// The first change that needs a number reserves one for each that is left.
  private mutating func takeNumber(_ remaining: Int) -> Int64 {
    let number = next ?? nextNumber
    if next == nil { nextNumber += Int64(remaining) }
    next = number + 1
    return number
  }

  private mutating func make(_ change: LedgerChange, _ date: Date, remaining: Int)
    throws(LedgerRefusal) -> LedgerOutcome
  {
    switch change {
    case .purchase(let draft):
      if let known = purchases[draft.transaction] {
        guard let digest = known.digest else { throw .erased }
        guard digest == draft.requestDigest else { throw .otherRequest(known.record) }
        return LedgerOutcome(known.record, isRepeated: true)
      }
      return try record(draft, date, takeNumber(remaining))
    case .decide(let transaction, let change, let actor, let key):
      let number = takeNumber(remaining)
      let entry = try known(transaction)
      let request = Event(
        sequence: number, kind: .published, transaction: nil, actor: actor, key: key,
        change: change.name)
      return try decide(entry, change, date, request)
    case .finish(let transaction):
      var record = try known(transaction).record
      guard record.state.canFinish else { throw .impossible(record) }
      if record.finished != nil { return LedgerOutcome(record, isRepeated: true) }
      _ = takeNumber(remaining)
      record.finished = date
      purchases[transaction]?.record = record
      return LedgerOutcome(record, isRepeated: false)
    case .erase(let account): return erase(account, takeNumber(remaining))
    case .delete(let sequence):
      _ = takeNumber(remaining)
      let found = purchases.values.map(\.record).first { $0.sequence == sequence }
      if let found, found.original != nil || found.state.name == "failed" {
        purchases[found.transaction] = nil
        events.removeAll { $0.transaction == found.transaction }
      }
    case .publish:
      let number = takeNumber(remaining)
      events.append(Event(sequence: number, kind: .published, transaction: nil))
    }
    return LedgerOutcome(nil, isRepeated: false)
  }

  private func known(_ transaction: String) throws(LedgerRefusal) -> Entry {
    guard let entry = purchases[transaction] else { throw .unknownTransaction(transaction) }
    return entry
  }

  // MARK: Changes

  private mutating func record(_ draft: PurchaseDraft, _ date: Date, _ number: Int64)
    throws(LedgerRefusal) -> LedgerOutcome
  {
    let sale = draft.isSoldOnce ? owned(draft.product, by: draft.account) : nil
    var record = PurchaseRecord(
      transaction: draft.transaction, account: draft.account, product: draft.product,
      quantity: draft.quantity, state: draft.state, date: date, contents: draft.contents,
      isRestorable: draft.isRestorable, isSoldOnce: draft.isSoldOnce, price: draft.price,
      reference: draft.reference, sequence: number, revision: number)
    if let sale {
      record.repeats(sale)
    } else {
      let waiting = purchases.values.count {
        $0.record.account == draft.account && $0.record.state == .deferred(.approval)
      }
      if draft.state == .deferred(.approval), waiting >= 20 { throw .tooManyWaiting(20) }
      if draft.usesVoucher { record.state = paid(record, by: draft.voucher) }
    }
    purchases[draft.transaction] = Entry(
      record: record, digest: draft.requestDigest, voucher: sale == nil ? draft.voucher : nil)
    if sale == nil, record.state == .purchased {
      events.append(
        Event(
          sequence: number, kind: .purchased, transaction: record.transaction, actor: draft.actor))
    }
    return LedgerOutcome(record, isRepeated: false)
  }

  private mutating func decide(
    _ entry: Entry, _ change: PurchaseChange, _ date: Date, _ request: Event
  ) throws(LedgerRefusal) -> LedgerOutcome {
    let known = entry.record
    let sale = known.original?.transaction ?? known.transaction
    if let actor = request.actor, let key = request.key,
      let event = events.first(where: { $0.actor == actor && $0.key == key })
    {
      guard [known.transaction, sale].contains(event.transaction), event.change == change.name
      else { throw .otherChange }
      return LedgerOutcome(known, isRepeated: true)
    }
    func event(_ kind: LedgerEvent.Kind, of transaction: String) -> Event {
      Event(
        sequence: request.sequence, kind: kind, transaction: transaction, actor: request.actor,
        key: request.key, change: request.change)
    }
    let owned = known.isSoldOnce ? owned(known.product, by: known.account) : nil
    let (state, kind): (PurchaseState, LedgerEvent.Kind)
    switch known.state.applying(change, at: date) {
    case .impossible: throw .impossible(known)
    case .unchanged: return LedgerOutcome(known, isRepeated: true)
    case .needsDecision:
      guard owned != nil else { throw .needsDecision(known, hasVoucher: entry.voucher != nil) }
      (state, kind) = (.purchased, .decided)
    case .changed(let new, let event): (state, kind) = (new, event)
    }
    if state == .purchased, kind != .reversed, let owned {
      release(entry)
      var record = known
      record.repeats(owned)
      (record.revision, record.date) = (request.sequence, date)
      purchases[known.transaction]?.record = record
      purchases[known.transaction]?.voucher = nil
      events.append(event(kind, of: known.transaction))
      return LedgerOutcome(record, isRepeated: false)
    }
    var record = try self.known(sale).record
    (record.state, record.revision) = (state, request.sequence)
    if case .decide(let decision) = change {
      record.price = decision.price ?? record.price
      record.reference = decision.reference ?? record.reference
      if decision.usesVoucher {
        record.state = paid(record, by: entry.voucher)
      } else {
        release(entry)
      }
    }
    if record.state == .purchased, kind != .reversed { record.date = date }
    if record.state.name == "failed" { release(entry) }
    purchases[sale]?.record = record
    for name in purchases.keys where purchases[name]?.record.original?.transaction == sale {
      purchases[name]?.record.state = record.state
      purchases[name]?.record.revision = record.revision
    }
    events.append(event(kind, of: sale))
    return LedgerOutcome(purchases[known.transaction]?.record, isRepeated: false)
  }

  /// Returns the state after a voucher was used or, for a deferred purchase, reserved.
  private mutating func paid(_ record: PurchaseRecord, by voucher: Digest?) -> PurchaseState {
    guard let voucher, record.state.name != "failed" else { return record.state }
    let holder = vouchers[voucher]
    guard let holder, !holder.isUsed, [nil, record.transaction].contains(holder.transaction) else {
      return .failed(.declined("The voucher is unknown, expired, revoked or was used before"))
    }
    vouchers[voucher] = Holder(
      transaction: record.transaction, isUsed: record.state == .purchased)
    return record.state
  }

  private mutating func release(_ entry: Entry) {
    guard let voucher = entry.voucher, let holder = vouchers[voucher], !holder.isUsed,
      holder.transaction == entry.record.transaction
    else { return }
    vouchers[voucher] = Holder()
  }

  private mutating func erase(_ account: AccountID, _ number: Int64) -> LedgerOutcome {
    var outcome = LedgerOutcome(nil, isRepeated: false)
    for (name, entry) in purchases where entry.record.account == account {
      purchases[name]?.record.account = AccountID(rawValue: "erased-\(number)")
      purchases[name]?.record.reference = nil
      purchases[name]?.digest = nil
      if entry.record.original == nil { outcome.sales += 1 }
    }
    return outcome
  }

  // MARK: Look-ups

  /// The sales to `account` in the state purchased, oldest first.
  package func owned(account: AccountID?) -> [PurchaseRecord] {
    purchases.values.map(\.record)
      .filter { $0.account == account && $0.state == .purchased && $0.original == nil }
      .sorted { $0.sequence < $1.sequence }
  }

  private func owned(_ product: ProductIdentifier, by account: AccountID?) -> PurchaseRecord? {
    owned(account: account).first { $0.product == product }
  }
}

extension PurchaseRecord {
  /// Makes this purchase a free repeat of `sale`.
  fileprivate mutating func repeats(_ sale: PurchaseRecord) {
    original = Original(transaction: sale.transaction, date: sale.date)
    state = sale.state
    price = price.map { SoldPrice(milliunits: 0, currency: $0.currency) }
    reference = nil
  }
}
