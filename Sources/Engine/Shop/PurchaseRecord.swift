package import HostedModel
package import FoundationEssentials

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
