package import FoundationEssentials
package import HostedModel

/// A decision about an existing purchase.
package enum PurchaseChange: Hashable, Sendable {
  case approve
  /// What the deciders say about a purchase that waited for approval.
  case decide(SaleDecision)
  /// The reason is for the buyer.
  case decline(reason: String)
  case refund(reason: String)
  case revoke(reason: String)
  /// Undoes a refund or a revocation.
  case reverse

  /// The name in messages.
  package var name: String {
    switch self {
    case .approve, .decide: "approve"
    case .decline: "decline"
    case .refund: "refund"
    case .revoke: "revoke"
    case .reverse: "reverse"
    }
  }

  /// Whether the change writes an event of this kind.
  func isReported(as kind: LedgerEvent.Kind) -> Bool {
    switch self {
    case .approve, .decide: kind == .decided || kind == .decidedAfterInterruption
    case .decline: kind == .declined
    case .refund: kind == .refunded
    case .revoke: kind == .revoked
    case .reverse: kind == .reversed
    }
  }
}

/// What becomes of a purchase, as the deciders say.
package struct SaleDecision: Hashable, Sendable {
  /// Purchased, deferred for payment, or failed.
  package var state: PurchaseState
  /// Whether the voucher of the request pays for it.
  package var usesVoucher = false
  /// What is paid instead of the catalog's price.
  package var price: SoldPrice?
  /// The number of the payment at its provider.
  package var reference: String?

  package init(_ state: PurchaseState) { self.state = state }
}

extension PurchaseState {
  /// The result of a change.
  package enum Transition: Hashable, Sendable {
    /// The new state, and the kind of the event that reports it.
    case changed(PurchaseState, LedgerEvent.Kind)
    /// It was changed like this before, so that a repeated request has the same result.
    case unchanged
    /// The deciders must be asked first; their answer is the change `decide`.
    case needsDecision
    case impossible
  }

  /// Returns the state after `change` at `date`.
  package func applying(_ change: PurchaseChange, at date: Date) -> Transition {
    switch (self, change) {
    case (.deferred(.approval), .approve): .needsDecision
    case (.deferred(.approval), .decide(let decision)): .changed(decision.state, .decided)
    case (.deferred(.payment), .approve): .changed(.purchased, .decided)
    case (.failed(.interrupted), .approve): .changed(.purchased, .decidedAfterInterruption)
    case (.purchased, .approve): .unchanged
    case (.deferred, .decline(let reason)): .changed(.failed(.declined(reason)), .declined)
    case (.failed(.declined), .decline): .unchanged
    case (.purchased, .refund(let reason)): .changed(.refunded(at: date, reason: reason), .refunded)
    case (.refunded, .refund): .unchanged
    case (.purchased, .revoke(let reason)): .changed(.revoked(at: date, reason: reason), .revoked)
    case (.revoked, .revoke): .unchanged
    case (.refunded, .reverse), (.revoked, .reverse): .changed(.purchased, .reversed)
    case (.purchased, .reverse): .unchanged
    default: .impossible
    }
  }

  /// Returns why the buyer does not own `product`; nil if the purchase is purchased or deferred.
  ///
  /// `shown` returns the seller's reason as one line that is safe for messages.
  package func refusal(
    of product: ProductIdentifier, shown: (String) -> String = { $0.printable(limit: 500) }
  ) -> ContentError? {
    func end(_ reason: String) -> String { reason.isEmpty ? "" : ": \(shown(reason))" }
    let (code, what, remedy): (ContentError.Code, String, String)
    switch self {
    case .purchased, .deferred: return nil
    case .failed(.declined(let reason)):
      (code, remedy) = (.purchaseDeclined, "Ask the seller")
      what = "was declined\(end(reason))"
    case .failed(.interrupted):
      code = .purchaseInterrupted
      what = "was interrupted, because the account must first do something at the seller"
      remedy = "Complete the purchase at the seller. It is delivered after that"
    case .refunded(_, let reason):
      (code, remedy) = (.purchaseRevoked, "Buy it again")
      what = "was refunded\(end(reason))"
    case .revoked(_, let reason):
      (code, remedy) = (.purchaseRevoked, "Ask the seller")
      what = "was revoked\(end(reason))"
    }
    return ContentError(
      code, "The purchase of \(product) \(what)", remedy: remedy, subject: product.rawValue)
  }

  /// Whether the buyer's queue may finish the purchase; also after it was taken back.
  package var canFinish: Bool {
    switch self {
    case .purchased, .refunded, .revoked: true
    case .deferred, .failed: false
    }
  }
}

extension ContentError {
  /// The state of a purchase does not allow a change.
  package static func impossible(
    _ change: PurchaseChange, of transaction: TransactionID, _ state: PurchaseState
  ) -> ContentError {
    ContentError(
      .usage, "Cannot \(change.name) the purchase \(transaction): it is \(state.name)",
      remedy: "Request a change that this state allows", subject: transaction.rawValue)
  }
}
