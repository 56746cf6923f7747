package import FoundationEssentials

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

  /// Whether the buyer's queue may finish the purchase; also after it was taken back.
  package var canFinish: Bool {
    switch self {
    case .purchased, .refunded, .revoked: true
    case .deferred, .failed: false
    }
  }
}
