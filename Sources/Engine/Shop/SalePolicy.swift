package import HostedModel

/// Decides what happens to a request for a purchase; pure.
///
/// The first check that applies answers. The commit repeats those of the transaction and of the
/// owned product under the ledger's lock: a look-up can miss a commit in progress.
package enum SalePolicy {
  /// What is known about a request.
  package struct Facts: Sendable {
    /// Why the shop cannot prove a sale, so that it does not sell.
    package var obstacle: ContentError?
    /// The purchase with the transaction, or why the request is refused; nil for a new transaction.
    package var recorded: Result<PurchaseRecord, LedgerRefusal>?
    /// Whether the transaction, or the account's purchase of the product, is being decided.
    package var isBusy = false
    /// Nil before the look-up.
    package var product: Result<Product, SaleRefusal>?
    /// The sale of the product to the account; nil if the account does not own it, or may own
    /// several.
    package var owned: PurchaseRecord?

    package init() {}
  }

  /// What happens next.
  package enum Step: Sendable {
    /// The request was answered before.
    case replay(PurchaseRecord)
    case refuse(SaleRefusal)
    /// The product must be looked up.
    case lookUp
    /// It is recorded as a free repeat of what the account owns.
    case repeats(Product)
    /// It waits for another person.
    case wait(Product)
    /// The deciders are asked.
    case decide(Product)
  }

  package static func step(_ request: PurchaseRequest, _ facts: Facts) -> Step {
    if let obstacle = facts.obstacle { return .refuse(.notReady(obstacle)) }
    switch facts.recorded {
    case .success(let record)?: return .replay(record)
    case .failure(let refusal)?: return .refuse(.refused(refusal))
    case nil: break
    }
    if facts.isBusy { return .refuse(.busy) }
    switch facts.product {
    case nil: return .lookUp
    case .failure(let refusal)?: return .refuse(refusal)
    case .success(let product)?:
      if facts.owned != nil { return .repeats(product) }
      return request.asksToBuy ? .wait(product) : .decide(product)
    }
  }
}

/// Why a request has no purchase as its answer.
package enum SaleRefusal: Error, Sendable {
  /// The ledger refuses it.
  case refused(LedgerRefusal)
  case notReady(ContentError)
  /// The same purchase is being decided; repeat the request.
  case busy
  case notOffered(ProductIdentifier)
  /// The catalog cannot be read.
  case catalogFailed(ContentError)
  /// The ledger cannot be read.
  case ledgerFailed(ContentError)
  /// A decider threw.
  case deciderFailed(ContentError)
  /// The changes may have been made; repeat the request.
  case commitFailed(ContentError)
  /// Too many requests wait for the catalog.
  case tooManyLookUps
}
