import ContentModel
import FoundationEssentials
import HostedContent

/// What the seller is told to do, and what it did; outlives the engines of a session.
struct SellerScript: Sendable {
  /// What happens to a payment for a product.
  enum Rule: Sendable {
    /// Somebody else decides.
    case asks
    /// It is taken back by the buyer, who comes again by another way.
    case interrupted
    case fails(ContentError)
  }

  /// A decision about a payment that waits for one.
  enum Decision: Sendable {
    case approved
    case declined
  }

  /// A rule, and for how many payments more; nil for all.
  var rules: [ProductIdentifier: (rule: Rule, remaining: Int?)] = [:]
  /// Who answered what for good, so that a payment that is asked again gets the same answer.
  var failures: [TransactionID: ContentError] = [:]
  var deferred: [TransactionID: Payment] = [:]
  var decisions: [TransactionID: Decision] = [:]
  var interrupted: [ProductIdentifier: Payment] = [:]
  /// Purchases that are no longer the account's, by the seller's number.
  var revoked: Set<String> = []
  /// How long a purchase lasts.
  var lifetimes: [ProductIdentifier: Duration] = [:]
  var restoreFailure: (after: Int, error: ContentError)?
  var storefront = Storefront(countryCode: "USA", identifier: "143441")

  /// The answer to a payment as the script has it; nil leaves it to the store.
  mutating func answer(to payment: Payment, transaction: TransactionID) -> PurchaseOutcome? {
    let product = payment.productIdentifier
    if let error = failures[transaction] { return .failed(error) }
    switch decisions[transaction] {
    case .approved: return nil
    case .declined: return .failed(.declined(product))
    case nil: if deferred[transaction] != nil { return .deferred }
    }
    guard let rule = takeRule(for: product) ?? (payment.simulatesAskToBuy ? .asks : nil) else {
      return nil
    }
    switch rule {
    case .asks:
      deferred[transaction] = payment
      return .deferred
    case .interrupted:
      interrupted[product] = payment
      failures[transaction] = .interrupted(product)
      return .failed(.interrupted(product))
    case .fails(let error):
      failures[transaction] = error
      return .failed(error)
    }
  }

  private mutating func takeRule(for product: ProductIdentifier) -> Rule? {
    guard let (rule, remaining) = rules[product] else { return nil }
    if let remaining {
      rules[product] = remaining > 1 ? (rule, remaining - 1) : nil
    }
    return rule
  }

  /// Those of `grants` that are the account's at `now`.
  func valid(_ grants: [Grant], at now: Date) -> [Grant] {
    grants.filter { !revoked.contains($0.transactionIdentifier) && !isExpired($0, at: now) }
  }

  func isExpired(_ grant: Grant, at now: Date) -> Bool {
    lifetimes[grant.payment.productIdentifier].map { grant.date + $0.inSeconds <= now } ?? false
  }
}

extension ContentError {
  static func declined(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .notEntitled, "The purchase of \(product) was declined", remedy: "Ask again",
      subject: product.rawValue)
  }

  static func interrupted(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .stopped, "The purchase of \(product) was interrupted",
      remedy: "It comes as another transaction once its buyer has mended it",
      subject: product.rawValue)
  }
}
