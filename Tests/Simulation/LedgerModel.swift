package import HostedModel
package import FoundationEssentials
package import HostedLedger

/// A ledger in memory that behaves as `Ledger` must.
///
/// The simulation sells with it.
package struct LedgerModel: Sendable {
  package private(set) var purchases: [String: Entry] = [:]
  /// The kind and the purchase of each event, by number.
  package private(set) var events:
    [(sequence: Int64, kind: LedgerEvent.Kind, transaction: String?)] =
      []
  private var nextNumber: Int64 = 1
  private var vouchers: Set<Digest> = []

  /// A purchase with the digest of its request.
  package struct Entry: Sendable {
    package var record: PurchaseRecord
    package let digest: Digest
  }

  package init(vouchers: Set<Digest> = []) { self.vouchers = vouchers }

  /// Makes `changes`, as `Ledger.commit` does; receipts are not signed.
  package mutating func commit(_ changes: [LedgerChange], at date: Date)
    -> [Result<LedgerOutcome, LedgerRefusal>]
  {
    // The first change that needs a number reserves one for each that is left.
    var next: Int64?
    return changes.enumerated().map { position, change in
      make(change, date) { model in
        let number = next ?? model.nextNumber
        if next == nil { model.nextNumber += Int64(changes.count - position) }
        next = number + 1
        return number
      }
    }
  }

  private mutating func make(
    _ change: LedgerChange, _ date: Date, _ takeNumber: (inout LedgerModel) -> Int64
  ) -> Result<LedgerOutcome, LedgerRefusal> {
    switch change {
    case .purchase(let draft):
      if let known = purchases[draft.transaction] {
        return known.digest == draft.requestDigest
          ? .success(LedgerOutcome(known.record, isRepeated: true))
          : .failure(.otherRequest(known.record))
      }
      let number = takeNumber(&self)
      var state = draft.state
      if state == .purchased, let voucher = draft.voucher, vouchers.remove(voucher) == nil {
        state = .failed(.declined("The voucher is unknown or was used before"))
      }
      let record = PurchaseRecord(
        transaction: draft.transaction, account: draft.account, product: draft.product,
        quantity: draft.quantity, state: state, date: draft.importedDate ?? date,
        contents: draft.contents, isRestorable: draft.isRestorable, price: draft.price,
        sequence: number, revision: number)
      purchases[draft.transaction] = Entry(record: record, digest: draft.requestDigest)
      if state == .purchased { events.append((number, .purchased, draft.transaction)) }
      return .success(LedgerOutcome(record, isRepeated: false))
    case .decide(let transaction, let change):
      let number = takeNumber(&self)
      guard let known = purchases[transaction]?.record else {
        return .failure(.unknownTransaction(transaction))
      }
      switch known.state.applying(change, at: date) {
      case .impossible: return .failure(.impossible(known))
      case .unchanged: return .success(LedgerOutcome(known, isRepeated: true))
      case .changed(let state, let kind):
        var record = known
        record.state = state
        record.revision = number
        if change == .approve { record.date = date }
        purchases[transaction]?.record = record
        events.append((number, kind, transaction))
        return .success(LedgerOutcome(record, isRepeated: false))
      }
    case .finish(let transaction):
      guard var record = purchases[transaction]?.record else {
        return .failure(.unknownTransaction(transaction))
      }
      guard record.state.canFinish else { return .failure(.impossible(record)) }
      if record.finished != nil { return .success(LedgerOutcome(record, isRepeated: true)) }
      _ = takeNumber(&self)
      record.finished = date
      purchases[transaction]?.record = record
      return .success(LedgerOutcome(record, isRepeated: false))
    case .erase(let account, let replacement):
      _ = takeNumber(&self)
      for transaction in purchases.keys where purchases[transaction]?.record.account == account {
        purchases[transaction]?.record.account = replacement
      }
      return .success(LedgerOutcome(nil, isRepeated: false))
    case .publish:
      events.append((takeNumber(&self), .published, nil))
      return .success(LedgerOutcome(nil, isRepeated: false))
    }
  }

  /// The purchases of `account` in the state purchased, oldest first.
  package func owned(account: AccountID?) -> [PurchaseRecord] {
    purchases.values.map(\.record).filter { $0.account == account && $0.state == .purchased }
      .sorted { $0.sequence < $1.sequence }
  }
}
