/// A rule for each product, for a number of requests or for all.
struct ProductRules<Rule: Sendable>: Sendable {
  private var rules: [ProductIdentifier: (rule: Rule, remaining: Int?)] = [:]

  /// Sets the rule for the next `count` requests, or for all for nil.
  ///
  /// Throws `usage` if `count` is less than 1.
  mutating func set(_ rule: Rule, for product: ProductIdentifier, count: Int?) throws {
    guard count.map({ $0 > 0 }) ?? true else {
      throw ContentError(
        .usage, "The count of a rule for \(product) is less than 1", remedy: "Use at least 1")
    }
    rules[product] = (rule, count)
  }

  /// Returns the rule for a request, and counts the request.
  mutating func take(for product: ProductIdentifier) -> Rule? {
    guard let (rule, remaining) = rules[product] else { return nil }
    if let remaining { rules[product] = remaining > 1 ? (rule, remaining - 1) : nil }
    return rule
  }
}
