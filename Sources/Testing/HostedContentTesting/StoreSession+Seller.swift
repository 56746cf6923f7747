public import HostedModel
import FoundationEssentials
import HostedContent

/// Controls the store service's answers and events.
extension StoreSession {
  // MARK: Answers

  /// The decision about a payment.
  public enum PurchaseDecision: Hashable, Sendable {
    /// The store sells the product.
    case approve
    /// It waits until `approve` or `decline` (Ask to Buy).
    case later
    /// It fails with `stopped`, as if the buyer had canceled it.
    ///
    /// `resolveInterruption` completes the purchase, as another transaction.
    case interrupt
    /// It fails with an error.
    case fail(ContentError)
  }

  /// Sets the decision about payments for `product`: the next `count`, or all for nil.
  ///
  /// Payments without a rule are approved. An approved payment with `simulatesAskToBuy` waits.
  /// Throws `usage` if `count` is less than 1.
  public func setDecision(
    _ decision: PurchaseDecision, about product: ProductIdentifier, count: Int? = nil
  ) throws {
    try script.change { try $0.rules.set(decision, for: product, count: count) }
  }

  /// Makes the next restore fail with `error` after this many restored purchases.
  public func failRestore(with error: ContentError, afterPurchases count: Int = 0) {
    script.change { $0.restoreFailure = (count, error) }
  }

  // MARK: Events

  /// The transactions that wait for a decision, sorted by identifier.
  public func deferredTransactions() -> [TransactionID] {
    script.change { script in
      script.deferred.keys.filter { script.decisions[$0] == nil }.sorted()
    }
  }

  /// Approves a deferred transaction, by its identifier in the queue.
  ///
  /// It is bought now. Throws `usage` if it does not wait for a decision, and rethrows errors of
  /// the purchase.
  public func approve(_ transaction: TransactionID) async throws {
    try await decide(transaction, .approved)
  }

  /// Declines a deferred transaction.
  ///
  /// It fails with `purchaseDeclined`. Throws what `approve` throws.
  public func decline(_ transaction: TransactionID) async throws {
    try await decide(transaction, .declined)
  }

  private func decide(_ transaction: TransactionID, _ decision: SellerScript.Decision) async throws
  {
    let payment: Payment? = script.change { script in
      guard script.decisions[transaction] == nil, let payment = script.deferred[transaction]
      else { return nil }
      script.decisions[transaction] = decision
      return payment
    }
    guard let payment else {
      throw ContentError(
        .usage, "The transaction \(transaction) does not wait for a decision",
        remedy: "Decide once, after it was reported as deferred",
        subject: transaction.rawValue)
    }
    do {
      let seller = try seller()
      let outcome = try await buy(payment, transaction, from: seller)
      if decision == .approved, case .failed(let error) = outcome { throw error }
      seller.send(.answered(transaction: transaction, outcome))
    } catch {
      // The transaction still waits, so it can be decided again.
      script.change { $0.decisions[transaction] = nil }
      throw error
    }
  }

  /// Resolves the interrupted purchase of `product`, which is completed as a new transaction.
  ///
  /// Of several ones, it resolves the oldest.
  /// Throws `usage` if no purchase was interrupted, and rethrows errors of the purchase.
  public func resolveInterruption(of product: ProductIdentifier) async throws {
    let payment: Payment? = script.change { script in
      guard let payment = script.interrupted[product]?.first else { return nil }
      script.interrupted[product]?.removeFirst()
      return payment
    }
    guard let payment else {
      throw ContentError(
        .usage, "No purchase of \(product) was interrupted",
        remedy: "Call setDecision(.interrupt, about:) first", subject: product.rawValue)
    }
    do {
      try await grant(payment)
    } catch {
      script.change { $0.interrupted[product, default: []].insert(payment, at: 0) }
      throw error
    }
  }

  /// Grants a product without a payment in this session, such as one bought on another device.
  ///
  /// Decisions about payments do not apply.
  public func grant(_ product: ProductIdentifier, account: AccountID? = nil) async throws {
    try await grant(Payment(productIdentifier: product, applicationUsername: account))
  }

  private func grant(_ payment: Payment) async throws {
    let seller = try seller()
    let transaction = TransactionID(rawValue: "elsewhere-\(nextNumber())")
    // The rule for the product does not apply.
    script.change { $0.decisions[transaction] = .approved }
    switch try await buy(payment, transaction, from: seller) {
    case .purchased(let grant, let contents): seller.send(.granted(grant, contents: contents))
    case .failed(let error), .undecided(let error): throw error
    case .deferred:
      throw ContentError(
        .usage, "\(payment.productIdentifier) waits for a decision",
        remedy: "Approve it at the service that sells it")
    }
  }

  /// Throws if the purchase is undecided.
  private func buy(
    _ payment: Payment, _ transaction: TransactionID, from seller: ScriptedSeller
  ) async throws -> PurchaseOutcome {
    let order = PurchaseOrder(payment: payment, transaction: transaction)
    guard let outcome = try await seller.purchase([order]).first else { throw CancellationError() }
    if case .undecided(let error) = outcome { throw error }
    return outcome
  }

  /// Revokes a product, as a refund does.
  ///
  /// It is no longer granted or restored. Observers are notified. Nothing is removed from the
  /// library.
  public func refund(_ product: ProductIdentifier, account: AccountID? = nil) async throws {
    let seller = try seller()
    let numbers = try await seller.history(account: account)
      .filter { $0.payment.productIdentifier == product }.map(\.transactionIdentifier)
    script.change { $0.revoked.formUnion(numbers) }
    try await seller.change(numbers, .refund(reason: ""))
    seller.send(.revoked(Revocation([product], account: account)))
  }

  /// Sets the lifetime of purchases of `product`; nil means that they do not expire.
  public func setLifetime(_ lifetime: Duration?, of product: ProductIdentifier) {
    script.change { $0.lifetimes[product] = lifetime }
  }

  /// Advances the clock.
  ///
  /// Purchases that expire are revoked, and observers are notified of products that the account no
  /// longer owns.
  public func advance(by duration: Duration, account: AccountID? = nil) async throws {
    let seller = try seller()
    // If this fails, such as after `kill`, the clock is not advanced.
    let history = try await seller.history(account: account)
    let before = clock.now
    clock.advance(by: duration)
    let now = clock.now
    let (numbers, products) = script.change { script in
      let ended = script.valid(history, at: before).filter { script.isExpired($0, at: now) }
      // A later purchase may still grant the product.
      let owned = script.valid(history, at: now).map(\.payment.productIdentifier)
      let products = Set(ended.map(\.payment.productIdentifier)).subtracting(owned).sorted()
      return (ended.map(\.transactionIdentifier), products)
    }
    try await seller.change(numbers, .revoke(reason: "It expired"))
    if !products.isEmpty { seller.send(.revoked(Revocation(products, account: account))) }
  }

  /// Moves the account to another storefront.
  ///
  /// `countryCode` is ISO 3166-1 alpha-3.
  public func changeStorefront(to countryCode: String, identifier: String = "") throws {
    let seller = try seller()
    let storefront = Storefront(countryCode: countryCode, identifier: identifier)
    script.change { $0.storefront = storefront }
    seller.send(.storefrontChanged(storefront))
  }

  /// Simulates a purchase that starts outside of the service.
  ///
  /// Observers decide whether to add it.
  public func promote(_ product: ProductIdentifier) throws {
    try seller().send(.promoted(Payment(productIdentifier: product)))
  }

  /// Announces that content may have changed, like a push notification.
  public func announceContent() throws { try seller().send(.contentPublished) }
}
