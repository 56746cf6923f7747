package import FoundationEssentials
package import HostedModel

/// A decision about an existing purchase.
package enum PurchaseChange: Hashable, Sendable {
  case approve
  /// The reason is for the buyer.
  case decline(reason: String)
  case refund(reason: String)
  case revoke(reason: String)
  /// Undoes a refund or a revocation.
  case reverse

  /// The name in messages.
  package var name: String {
    switch self {
    case .approve: "approve"
    case .decline: "decline"
    case .refund: "refund"
    case .revoke: "revoke"
    case .reverse: "reverse"
    }
  }
}

extension PurchaseState {
  /// The result of a change.
  package enum Transition: Hashable, Sendable {
    /// The new state, and the kind of the event that reports it.
    case changed(PurchaseState, LedgerEvent.Kind)
    /// It was changed like this before, so that a repeated request has the same result.
    case unchanged
    case impossible
  }

  /// Returns the state after `change` at `date`.
  package func applying(_ change: PurchaseChange, at date: Date) -> Transition {
    switch (self, change) {
    case (.deferred, .approve): .changed(.purchased, .decided)
    case (.failed(.interrupted), .approve): .changed(.purchased, .decidedAfterInterruption)
    case (.purchased, .approve): .unchanged
    case (.deferred, .decline(let reason)): .changed(.failed(.declined(reason)), .decided)
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
