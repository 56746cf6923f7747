package import HostedModel
package import FoundationEssentials

/// A change of a ledger.
package enum LedgerChange: Sendable {
  case purchase(PurchaseDraft)
  /// Changes a purchase by its own identifier or a repeat's; `actor` is who has decided.
  ///
  /// `key` identifies the request of an actor, so that a repeated one changes nothing.
  case decide(transaction: String, PurchaseChange, actor: String? = nil, key: String? = nil)
  /// The buyer's queue has finished the purchase.
  case finish(transaction: String)
  /// Gives an account a random name, and removes what else identifies the person.
  case erase(account: AccountID)
  /// Removes a purchase whose time has passed, with its events.
  case delete(sequence: Int64)
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
  /// Whether the purchase becomes a repeat if the account owns the product.
  package let isSoldOnce: Bool
  package let price: SoldPrice?
  /// The number of the payment at its provider.
  package var reference: String?
  /// The digest of the code of a voucher.
  package var voucher: Digest?
  /// Whether the voucher pays for it: the purchase fails unless the voucher is unused.
  package var usesVoucher: Bool
  /// Who has decided.
  package var actor: String?
  /// What an imported purchase has, and a new one does not.
  package var imported: Imported?

  package struct Imported: Hashable, Sendable {
    package let date: Date
    package let finished: Date?
    /// The transaction of the sale that it repeats.
    package let original: String?
  }

  package init(
    transaction: String, account: AccountID?, product: ProductIdentifier, quantity: Int,
    requestDigest: Digest, state: PurchaseState, contents: [ContentKey], isRestorable: Bool,
    isSoldOnce: Bool = false, price: SoldPrice? = nil, reference: String? = nil,
    voucher: Digest? = nil, usesVoucher: Bool = true, actor: String? = nil,
    imported: Imported? = nil
  ) {
    self.transaction = transaction
    self.account = account
    self.product = product
    self.quantity = quantity
    self.requestDigest = requestDigest
    self.state = state
    self.contents = contents
    self.isRestorable = isRestorable
    self.isSoldOnce = isSoldOnce
    self.price = price
    self.reference = reference
    self.voucher = voucher
    self.usesVoucher = usesVoucher
    self.actor = actor
    self.imported = imported
  }
}

/// The outcome of a change.
package struct LedgerOutcome: Hashable, Sendable {
  /// The purchase after the change; nil for a change that does not concern a purchase.
  package let purchase: PurchaseRecord?
  /// Whether the same change was made before.
  package let isRepeated: Bool
  /// The number of sales to an erased account; 0 in other outcomes.
  package var sales = 0

  package init(_ purchase: PurchaseRecord?, isRepeated: Bool) {
    self.purchase = purchase
    self.isRepeated = isRepeated
  }
}

/// Why a ledger refuses a change; nothing is recorded.
package enum LedgerRefusal: Error, Hashable, Sendable {
  /// The transaction exists for another request.
  case otherRequest(PurchaseRecord)
  /// The transaction exists, and its account was erased.
  case erased
  case unknownTransaction(String)
  /// The state of the purchase does not allow the change.
  case impossible(PurchaseRecord)
  /// The purchase waits for approval, so the deciders must be asked first.
  case needsDecision(PurchaseRecord, hasVoucher: Bool)
  /// The actor has used the key for another change.
  case otherChange
  /// The account already has this many purchases that wait for approval.
  case tooManyWaiting(Int)
  /// It failed alone.
  case failed(ContentError)
}
