package import HostedModel
package import FoundationEssentials

/// A purchase in a ledger.
///
/// Its transaction identifier is unique forever. Everything except the state, the receipt and the
/// date of the finish stays as it was sold.
package struct PurchaseRecord: Hashable, Sendable {
  /// The identifier that the buyer's queue generated, 1 to 128 bytes.
  package let transaction: String
  /// The account; nil for a library's own account.
  package var account: AccountID?
  package let product: ProductIdentifier
  package let quantity: Int
  package var state: PurchaseState
  /// The time of the purchase, or of its approval, in whole milliseconds.
  package var date: Date
  /// The signed receipt (JWS); nil before the purchase, without a receipt key, and after the
  /// account was erased.
  package var receipt: String?
  /// The contents of the product when it was sold.
  package let contents: [ContentKey]
  /// Whether a restore delivers it again; false for consumables.
  package let isRestorable: Bool
  /// The price when it was sold.
  package let price: SoldPrice?
  /// When the buyer's queue finished it.
  package var finished: Date?
  /// The number of the purchase, in commit order.
  package let sequence: Int64
  /// The number of its last change, in commit order.
  package var revision: Int64

  package init(
    transaction: String, account: AccountID?, product: ProductIdentifier, quantity: Int,
    state: PurchaseState, date: Date, receipt: String? = nil, contents: [ContentKey],
    isRestorable: Bool, price: SoldPrice? = nil, finished: Date? = nil, sequence: Int64,
    revision: Int64
  ) {
    self.transaction = transaction
    self.account = account
    self.product = product
    self.quantity = quantity
    self.state = state
    self.date = date
    self.receipt = receipt
    self.contents = contents
    self.isRestorable = isRestorable
    self.price = price
    self.finished = finished
    self.sequence = sequence
    self.revision = revision
  }
}

extension Product {
  /// The current contents, as a sale records them.
  package var soldContents: [ContentKey] {
    contents.map { ContentKey($0.contentIdentifier, version: $0.version) }
  }

  /// Whether a restore delivers the product again.
  package var isRestorable: Bool { type == .nonConsumable || type == .autoRenewable }
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
  /// Waiting for approval.
  case deferred
  case purchased
  /// Not sold.
  case failed(Failure)
  /// The price was paid back.
  case refunded(at: Date, reason: String)
  /// The seller took the product back.
  case revoked(at: Date, reason: String)

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
