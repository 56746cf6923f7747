import HostedModel
import FoundationEssentials
import HostedContent

/// The rules and the state of a store service; it outlives the engines of a session.
struct SellerScript: Sendable {
  /// A decision about a deferred payment.
  enum Decision: Sendable {
    case approved
    case declined
  }

  var rules = ProductRules<StoreSession.PurchaseDecision>()
  /// Final failures, so that a repeated payment gets the same answer.
  var failures: [TransactionID: ContentError] = [:]
  var deferred: [TransactionID: Payment] = [:]
  var decisions: [TransactionID: Decision] = [:]
  /// The interrupted payments of each product, oldest first.
  var interrupted: [ProductIdentifier: [Payment]] = [:]
  /// Purchases that the account no longer owns, by the seller's transaction number.
  var revoked: Set<String> = []
  /// The lifetime of a purchase.
  var lifetimes: [ProductIdentifier: Duration] = [:]
  var restoreFailure: (after: Int, error: ContentError)?
  var storefront = Storefront(countryCode: "USA", identifier: "143441")

  /// Returns the scripted answer to a payment; nil leaves it to the store.
  mutating func answer(to payment: Payment, transaction: TransactionID) -> PurchaseOutcome? {
    let product = payment.productIdentifier
    if let error = failures[transaction] { return .failed(error) }
    switch decisions[transaction] {
    case .approved: return nil
    case .declined:
      return .failed(
        ContentError(
          .purchaseDeclined, "The purchase of \(product) was declined", remedy: "Ask again",
          subject: product.rawValue))
    case nil: if deferred[transaction] != nil { return .deferred }
    }
    var decision = rules.take(for: product) ?? .approve
    if decision == .approve, payment.simulatesAskToBuy { decision = .later }
    let error: ContentError
    switch decision {
    case .approve: return nil
    case .later:
      deferred[transaction] = payment
      return .deferred
    case .interrupt:
      interrupted[product, default: []].append(payment)
      error = ContentError(
        .purchaseInterrupted, "The purchase of \(product) was interrupted",
        remedy: "Wait for the buyer to resolve it. The purchase is then another transaction",
        subject: product.rawValue)
    case .fail(let scripted): error = scripted
    }
    failures[transaction] = error
    return .failed(error)
  }

  /// Returns the grants that the account owns at `now`.
  func valid(_ grants: [Grant], at now: Date) -> [Grant] {
    grants.filter { !revoked.contains($0.transactionIdentifier) && !isExpired($0, at: now) }
  }

  func isExpired(_ grant: Grant, at now: Date) -> Bool {
    lifetimes[grant.payment.productIdentifier].map { grant.date + $0.inSeconds <= now } ?? false
  }
}
