import HostedConcurrency
import HostedModel
import HostedStoreAPI

/// Decides about purchases by script; approves those without a rule.
final class ScriptedDecider: PurchaseDecider {
  let rules = Mutex(ProductRules<Decision>())

  func decide(
    _ purchase: PurchaseRequest,
    answer: @escaping @Sendable (Result<Decision, ContentError>) -> Void
  ) {
    answer(.success(rules.withLock { $0.take(for: purchase.product) } ?? .approve))
  }
}
