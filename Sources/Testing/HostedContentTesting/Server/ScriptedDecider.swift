import Concurrency
import ContentModel
import StoreAPI

/// Decides about purchases by script; approves those without a rule.
final class ScriptedDecider: PurchaseDecider {
  /// A decision, and the number of remaining purchases; nil is unlimited.
  private let rules = Mutex<[ProductIdentifier: (decision: Decision, remaining: Int?)]>([:])

  func set(_ decision: Decision, about product: ProductIdentifier, count: Int?) {
    rules.withLock { $0[product] = (decision, count) }
  }

  func decide(
    _ purchase: PurchaseRequest,
    answer: @escaping @Sendable (Result<Decision, ContentError>) -> Void
  ) {
    answer(.success(take(for: purchase.product)))
  }

  private func take(for product: ProductIdentifier) -> Decision {
    rules.withLock { rules in
      guard let (decision, remaining) = rules[product] else { return .approve }
      if let remaining { rules[product] = remaining > 1 ? (decision, remaining - 1) : nil }
      return decision
    }
  }
}
