package import FoundationEssentials
package import HostedModel

/// A purchase in a ledger.
///
/// Its transaction identifier is unique while the ledger has it. Everything except the state and
/// the date of the finish stays as it was sold.
package struct PurchaseRecord: Hashable, Sendable {
  /// The identifier that the buyer's queue generated, 1 to 128 bytes.
  package let transaction: String
  /// The sale that this purchase repeats; nil for a sale.
  ///
  /// A repeat is free, and its state is that of the sale.
  package var original: Original?
  /// The account; nil for a library's own account.
  package var account: AccountID?
  package let product: ProductIdentifier
  package let quantity: Int
  package var state: PurchaseState
  /// The time of the purchase, or of its approval, in whole milliseconds.
  package var date: Date
  /// The signed receipt (JWS); ledgers do not store it, so that each answer has the current key's.
  package var receipt: String?
  /// The contents of the product when it was sold.
  package let contents: [ContentKey]
  /// Whether a restore delivers it again; false for consumables.
  package let isRestorable: Bool
  /// Whether the account owns the product once it has bought it, so that it is not sold again.
  package let isSoldOnce: Bool
  /// The price when it was sold.
  package var price: SoldPrice?
  /// The number of the payment at its provider.
  package var reference: String?
  /// When the buyer's queue finished it.
  package var finished: Date?
  /// The number of the purchase, in commit order.
  package let sequence: Int64
  /// The number of its last change, in commit order.
  package var revision: Int64

  /// A sale, as its repeats name it.
  package struct Original: Hashable, Sendable {
    package let transaction: String
    package let date: Date

    package init(transaction: String, date: Date) {
      self.transaction = transaction
      self.date = date
    }
  }

  package init(
    transaction: String, original: Original? = nil, account: AccountID?,
    product: ProductIdentifier, quantity: Int, state: PurchaseState, date: Date,
    receipt: String? = nil, contents: [ContentKey], isRestorable: Bool, isSoldOnce: Bool = false,
    price: SoldPrice? = nil, reference: String? = nil, finished: Date? = nil, sequence: Int64,
    revision: Int64
  ) {
    self.transaction = transaction
    self.original = original
    self.account = account
    self.product = product
    self.quantity = quantity
    self.state = state
    self.date = date
    self.receipt = receipt
    self.contents = contents
    self.isRestorable = isRestorable
    self.isSoldOnce = isSoldOnce
    self.price = price
    self.reference = reference
    self.finished = finished
    self.sequence = sequence
    self.revision = revision
  }
}

extension PurchaseRecord {
  /// Returns the purchase with the receipt of `sign`, if it is purchased.
  package func signed(by sign: ((PurchaseRecord) throws -> String)?) throws -> PurchaseRecord {
    guard let sign, state == .purchased else { return self }
    var signed = self
    signed.receipt = try sign(self)
    return signed
  }
}

extension Product {
  /// The current contents, as a sale records them.
  package var soldContents: [ContentKey] {
    contents.map { ContentKey($0.contentIdentifier, version: $0.version) }
  }

  /// Whether a restore delivers the product again.
  package var isRestorable: Bool { type == .nonConsumable || type == .autoRenewable }

  /// Whether it is sold once to an account; buying it again is a free repeat.
  package var isSoldOnce: Bool { type == .nonConsumable }
}

/// The price of a sale.
package struct SoldPrice: Hashable, Sendable {
  /// In thousandths of the currency's unit.
  package let milliunits: Int64
  /// ISO 4217.
  package let currency: String

  package init(milliunits: Int64, currency: String) {
    self.milliunits = milliunits
    self.currency = currency
  }
}

/// The state of a purchase in a ledger.
package enum PurchaseState: Hashable, Sendable {
  /// Not decided yet.
  case deferred(Wait)
  case purchased
  /// Not sold.
  case failed(Failure)
  /// The price was paid back.
  case refunded(at: Date, reason: String)
  /// The seller took the product back.
  case revoked(at: Date, reason: String)

  /// What a deferred purchase waits for.
  package enum Wait: String, Hashable, Sendable, CaseIterable {
    /// Approval by another person (Ask to Buy); the deciders have not been asked.
    case approval
    /// A decider said `later`; it is not asked again.
    case payment
  }

  /// Why a purchase failed.
  package enum Failure: Hashable, Sendable {
    /// The reason for the buyer.
    case declined(String)
    /// The buyer must first do something at the seller. It may be approved later.
    case interrupted
  }

  /// The name in databases and messages.
  package var name: String {
    switch self {
    case .deferred: "deferred"
    case .purchased: "purchased"
    case .failed: "failed"
    case .refunded: "refunded"
    case .revoked: "revoked"
    }
  }
}

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
  /// Returns the first sale of `product` to `account` that is purchased; nil if there is none.
  func original(of product: ProductIdentifier, account: AccountID?) throws -> PurchaseRecord? {
    try rows(
      LedgerStatements.original, [.name(account), .text(product.rawValue), .hash(account)]
    ) { try PurchaseRecord($0) }.first
  }

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
