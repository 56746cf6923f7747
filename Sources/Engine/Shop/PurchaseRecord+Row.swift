import HostedModel
import FoundationEssentials

extension Date {
  /// Whole milliseconds since 1970; a later date than 64 bits can express becomes the last one.
  var milliseconds: Int64 {
    let number = (timeIntervalSince1970 * 1000).rounded()
    return Int64(exactly: number) ?? (number < 0 ? .min : .max)
  }

  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

/// A purchase with what only its changes need.
struct StoredPurchase {
  var record: PurchaseRecord
  /// The digest of its request; nil after its account was erased, which sets it to zeros.
  let request: Digest?
  /// The number of the sale that it repeats.
  let original: Int64?
  /// The voucher that it has reserved or used.
  let voucher: Digest?

  /// The number of the sale, which changes are made to.
  var sale: Int64 { original ?? record.sequence }
}

extension LedgerConnection {
  /// Returns the purchase with this transaction.
  func stored(_ transaction: String) throws -> StoredPurchase? {
    try rows(LedgerStatements.transaction, [.text(transaction)]) {
      StoredPurchase(
        record: try PurchaseRecord($0), request: Digest(bytes: $0.bytes(20)).nonzero,
        original: $0.optionalInteger(21), voucher: $0.isNull(22) ? nil : Digest(bytes: $0.bytes(22))
      )
    }.first
  }
}

extension Digest? {
  fileprivate var nonzero: Digest? { self == .zero ? nil : self }
}

extension PurchaseRecord {
  /// Reads the columns of `LedgerStatements` from column `first`; throws if they are damaged.
  init(_ row: any LedgerRow, from first: Int32 = 0) throws {
    let transaction = row.text(first + 1)
    func damaged(_ what: String) -> DamagedLedger {
      DamagedLedger("the \(what) of transaction \(transaction.printable(limit: 200)) is invalid")
    }
    guard let product = try? ProductIdentifier(validating: row.text(first + 4)) else {
      throw damaged("product")
    }
    let state = PurchaseState(
      row.text(first + 6), row.optionalInteger(first + 7), row.optionalText(first + 8),
      row.optionalText(first + 9))
    guard let state else { throw damaged("state") }
    guard let contents = ContentKey.list(row.text(first + 10)) else { throw damaged("contents") }
    let (account, price) = (row.text(first + 3), row.optionalInteger(first + 13))
    let currency = row.optionalText(first + 14)
    let original = row.optionalText(first + 18).map {
      Original(transaction: $0, date: Date(milliseconds: row.integer(first + 19)))
    }
    self.init(
      transaction: transaction, original: original,
      account: account.isEmpty ? nil : AccountID(rawValue: account), product: product,
      quantity: Int(row.integer(first + 5)), state: state,
      date: Date(milliseconds: row.integer(first + 16)), contents: contents,
      isRestorable: row.integer(first + 11) != 0, isSoldOnce: row.integer(first + 12) != 0,
      price: price.flatMap { price in
        currency.map { SoldPrice(milliunits: price, currency: $0) }
      },
      reference: row.optionalText(first + 15),
      finished: row.optionalInteger(first + 17).map(Date.init(milliseconds:)),
      sequence: row.integer(first), revision: row.integer(first + 2))
  }

  /// The values of `LedgerStatements.insertion`.
  func values(of draft: PurchaseDraft, original: Int64?) -> [LedgerValue] {
    [
      .integer(sequence), .text(transaction), .integer(revision), .name(account),
      .text(product.rawValue), .integer(Int64(quantity)),
      .text(original == nil ? "sale" : "repeat"), LedgerValue(original), .text(state.name),
      state.dateValue(changedAt: date), state.reasonValue, state.waitValue,
      .bytes(draft.requestDigest.bytes),
      .text(ContentKey.text(of: contents)), .integer(isRestorable ? 1 : 0),
      .integer(isSoldOnce ? 1 : 0), LedgerValue(price?.milliunits), LedgerValue(price?.currency),
      original == nil ? LedgerValue(draft.voucher) : .null, LedgerValue(draft.actor),
      LedgerValue(reference), .integer(date.milliseconds), LedgerValue(finished?.milliseconds),
    ]
  }

  /// The values of `LedgerStatements.state`.
  func changedValues(by actor: String?, at change: Date) -> [LedgerValue] {
    [
      .integer(sequence), .integer(revision), .text(state.name),
      state.dateValue(changedAt: change), state.reasonValue, state.waitValue,
      LedgerValue(price?.milliunits),
      LedgerValue(price?.currency), LedgerValue(reference), LedgerValue(actor),
      .integer(date.milliseconds),
    ]
  }
}

extension PurchaseState {
  /// The reason of an interrupted purchase in a row; a declined one has a longer text.
  private static let interruption = "!"

  fileprivate init?(_ name: String, _ date: Int64?, _ reason: String?, _ wait: String?) {
    switch (name, date, reason) {
    case ("deferred", _, _):
      guard let wait = wait.flatMap({ Wait(rawValue: $0) }) else { return nil }
      self = .deferred(wait)
    case ("purchased", _, _): self = .purchased
    case ("failed", _, Self.interruption): self = .failed(.interrupted)
    case ("failed", _, let reason?):
      // Not a `Character`, which would include a combining mark.
      self = .failed(.declined(String(Substring(reason.utf8.dropFirst()))))
    case ("refunded", let date?, let reason?):
      self = .refunded(at: Date(milliseconds: date), reason: reason)
    case ("revoked", let date?, let reason?):
      self = .revoked(at: Date(milliseconds: date), reason: reason)
    default: return nil
    }
  }

  fileprivate func dateValue(changedAt change: Date) -> LedgerValue {
    switch self {
    case .refunded(let date, _), .revoked(let date, _): .integer(date.milliseconds)
    case .failed: .integer(change.milliseconds)
    case .deferred, .purchased: .null
    }
  }

  fileprivate var waitValue: LedgerValue {
    if case .deferred(let wait) = self { .text(wait.rawValue) } else { .null }
  }

  fileprivate var reasonValue: LedgerValue {
    switch self {
    case .refunded(_, let reason), .revoked(_, let reason): .text(reason)
    case .failed(.interrupted): .text(Self.interruption)
    case .failed(.declined(let reason)): .text("=" + reason)
    case .deferred, .purchased: .null
    }
  }
}

extension ContentKey {
  fileprivate static func text(of contents: [ContentKey]) -> String {
    contents.map { "\($0.contentIdentifier.rawValue) \($0.version.rawValue)" }.joined(
      separator: "\n")
  }

  fileprivate static func list(_ text: String) -> [ContentKey]? {
    let lines = text.split(separator: "\n")
    let contents = lines.compactMap { line -> ContentKey? in
      let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
      guard parts.count == 2, let content = try? ProductIdentifier(validating: parts[0]),
        let version = try? ContentVersion(validating: parts[1])
      else { return nil }
      return ContentKey(content, version: version)
    }
    return contents.count == lines.count ? contents : nil
  }
}
