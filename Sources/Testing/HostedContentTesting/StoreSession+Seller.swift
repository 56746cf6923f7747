public import ContentModel
import FoundationEssentials
import HostedContent

/// What the seller answers, and what happens on its side.
extension StoreSession {
  // MARK: Answers

  /// Lets somebody else decide about payments for `product`: the next `count`, nil for all.
  public func askToBuy(_ product: String, count: Int? = nil) throws {
    try setRule(.asks, product, count)
  }

  /// Interrupts payments for `product`: each fails with `stopped`, as if its buyer had taken it
  /// back.
  ///
  /// `resolveInterruption` brings the purchase, as another transaction.
  public func interrupt(_ product: String, count: Int? = 1) throws {
    try setRule(.interrupted, product, count)
  }

  /// Fails payments for `product`: the next `count`, nil for all.
  public func fail(_ product: String, with error: ContentError, count: Int? = nil) throws {
    try setRule(.fails(error), product, count)
  }

  /// Sells `product` again as the store does.
  public func sell(_ product: String) throws {
    let product = try ProductIdentifier(validating: product)
    desk.change { $0.rules[product] = nil }
  }

  /// Lets the next restore end with `error` after so many purchases.
  public func failRestore(with error: ContentError, after count: Int = 0) {
    desk.change { $0.restoreFailure = (count, error) }
  }

  private func setRule(_ rule: SellerScript.Rule, _ product: String, _ count: Int?) throws {
    let product = try ProductIdentifier(validating: product)
    guard count.map({ $0 > 0 }) ?? true else {
      throw ContentError(
        .usage, "A rule for \(product) holds for no payment", remedy: "Give a count of at least 1")
    }
    desk.change { $0.rules[product] = (rule, count) }
  }

  // MARK: Events

  /// The transactions that wait for a decision, sorted by identifier.
  public func deferredTransactions() -> [TransactionID] {
    desk.change { script in
      script.deferred.keys.filter { script.decisions[$0] == nil }.sorted()
    }
  }

  /// Approves a deferred transaction, by its identifier in the queue; it is bought now.
  ///
  /// Throws `usage` for one that does not wait, and what buying it throws.
  public func approve(_ transaction: TransactionID) async throws {
    try await decide(transaction, .approved)
  }

  /// Declines a deferred transaction, which fails with `notEntitled`.
  public func decline(_ transaction: TransactionID) async throws {
    try await decide(transaction, .declined)
  }

  private func decide(_ transaction: TransactionID, _ decision: SellerScript.Decision) async throws
  {
    let payment = desk.change { script in
      defer { if script.deferred[transaction] != nil { script.decisions[transaction] = decision } }
      return script.decisions[transaction] == nil ? script.deferred[transaction] : nil
    }
    guard let payment else {
      throw ContentError(
        .usage, "The transaction \(transaction) does not wait for a decision",
        remedy: "Decide once, and wait until it is reported as deferred",
        subject: transaction.rawValue)
    }
    let seller = try seller()
    let outcome = try await seller.purchase(payment, transaction: transaction)
    seller.send(.answered(transaction: transaction, outcome))
  }

  /// The buyer mends what interrupted the purchase of `product`, and has it: as a new transaction.
  ///
  /// Throws `usage` when none was interrupted, and what buying it throws.
  public func resolveInterruption(of product: String) async throws {
    let product = try ProductIdentifier(validating: product)
    guard let payment = desk.change({ $0.interrupted.removeValue(forKey: product) }) else {
      throw ContentError(
        .usage, "No purchase of \(product) was interrupted", remedy: "Call interrupt() before",
        subject: product.rawValue)
    }
    try await grant(payment)
  }

  /// Gives the account a product that nobody here paid for, such as one bought elsewhere.
  public func grant(_ product: String, account: String? = nil) async throws {
    try await grant(
      Payment(
        productIdentifier: ProductIdentifier(validating: product), applicationUsername: account))
  }

  private func grant(_ payment: Payment) async throws {
    let seller = try seller()
    let number = TransactionID(rawValue: "elsewhere-\(nextNumber())")
    switch try await seller.purchase(payment, transaction: number) {
    case .purchased(let grant, let contents): seller.send(.granted(grant, contents: contents))
    case .failed(let error): throw error
    case .deferred:
      throw ContentError(
        .usage, "\(payment.productIdentifier) waits for a decision",
        remedy: "Call sell() to end asking")
    }
  }

  /// Takes a product back, as a refund does: it is granted and restored no more.
  ///
  /// Observers are told; nothing is removed from the library by that.
  public func refund(_ product: String, account: String? = nil) async throws {
    let product = try ProductIdentifier(validating: product)
    let seller = try seller()
    let numbers = try await seller.history(account: account)
      .filter { $0.payment.productIdentifier == product }.map(\.transactionIdentifier)
    desk.change { $0.revoked.formUnion(numbers) }
    seller.send(.revoked(Revocation([product], account: account)))
  }

  /// Sets how long purchases of `product` last; nil means that they do not expire.
  public func setLifetime(_ lifetime: Duration?, of product: String) throws {
    let product = try ProductIdentifier(validating: product)
    desk.change { $0.lifetimes[product] = lifetime }
  }

  /// Moves the clock; purchases whose lifetime ends by that are revoked, and observers told.
  public func advance(by duration: Duration, account: String? = nil) async throws {
    let before = clock.now
    clock.advance(by: duration)
    let now = clock.now
    let seller = try seller()
    let history = try await seller.history(account: account)
    let ended = desk.change { script in
      script.valid(history, at: before).filter { script.isExpired($0, at: now) }
    }
    let products = Set(ended.map(\.payment.productIdentifier)).sorted()
    if !products.isEmpty { seller.send(.revoked(Revocation(products, account: account))) }
  }

  /// Moves the account to another storefront; `countryCode` is ISO 3166-1 alpha-3.
  public func changeStorefront(to countryCode: String, identifier: String = "") throws {
    let storefront = Storefront(countryCode: countryCode, identifier: identifier)
    desk.change { $0.storefront = storefront }
    try seller().send(.storefrontChanged(storefront))
  }

  /// The user chooses a product outside the service; observers say whether it is added.
  public func promote(_ product: String) throws {
    try seller().send(.promoted(Payment(productIdentifier: ProductIdentifier(validating: product))))
  }

  /// Says that content may have changed, as a push does.
  public func announceContent() throws { try seller().send(.contentPublished) }
}
