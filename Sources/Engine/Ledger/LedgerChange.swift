package import HostedModel
package import FoundationEssentials

/// A change of a ledger.
package enum LedgerChange: Sendable {
  case purchase(PurchaseDraft)
  case decide(transaction: String, PurchaseChange)
  /// The buyer's queue has finished the purchase.
  case finish(transaction: String)
  /// Replaces the name of an account in all its purchases, and removes their receipts, which have
  /// the name.
  case erase(account: AccountID, replacement: AccountID)
  /// Records that the store's catalog has changed.
  case publish

  var isErasure: Bool { if case .erase = self { true } else { false } }
}

/// A purchase to be recorded.
package struct PurchaseDraft: Hashable, Sendable {
  package let transaction: String
  package let account: AccountID?
  package let product: ProductIdentifier
  package let quantity: Int
  /// The digest of the complete request; a repeated request must have the same.
  package let requestDigest: Digest
  /// The decision: purchased, deferred or failed.
  package let state: PurchaseState
  package let contents: [ContentKey]
  package let isRestorable: Bool
  package let price: SoldPrice?
  /// The digest of a voucher that pays for it; the purchase fails unless the voucher is unused.
  package var voucher: Digest?
  /// The date of an imported purchase; nil for the time of the commit.
  package var importedDate: Date?

  package init(
    transaction: String, account: AccountID?, product: ProductIdentifier, quantity: Int,
    requestDigest: Digest, state: PurchaseState, contents: [ContentKey], isRestorable: Bool,
    price: SoldPrice? = nil, voucher: Digest? = nil, importedDate: Date? = nil
  ) {
    self.transaction = transaction
    self.account = account
    self.product = product
    self.quantity = quantity
    self.requestDigest = requestDigest
    self.state = state
    self.contents = contents
    self.isRestorable = isRestorable
    self.price = price
    self.voucher = voucher
    self.importedDate = importedDate
  }
}

/// The outcome of a change.
package struct LedgerOutcome: Hashable, Sendable {
  /// The purchase after the change; nil for a change that does not concern a purchase.
  package let purchase: PurchaseRecord?
  /// Whether the same change was made before.
  package let isRepeated: Bool

  package init(_ purchase: PurchaseRecord?, isRepeated: Bool) {
    self.purchase = purchase
    self.isRepeated = isRepeated
  }
}

/// Why a ledger refuses a change; nothing is recorded.
package enum LedgerRefusal: Error, Hashable, Sendable {
  /// The transaction exists for another request.
  case otherRequest(PurchaseRecord)
  case unknownTransaction(String)
  /// The state of the purchase does not allow the change.
  case impossible(PurchaseRecord)
  /// It failed alone, such as because its receipt cannot be signed.
  case failed(ContentError)
}
