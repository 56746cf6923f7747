import ContentModel

/// Checks a seller's responses as they arrive, before anything is journaled.
///
/// Receipts: a purchase with an invalid receipt fails. A grant without a request is reported and
/// dropped. A restore delivers the valid purchases and then ends with the error. Contents: the
/// seller names them, and the catalog provides the details.
struct SellerGate: GrantLookup {
  let service: any StoreService
  /// Nil if receipts are not checked.
  let verifier: ReceiptVerifier?
  /// Nil if contents are not looked up in a catalog.
  let contents: SignedContents?
  let clock: EngineClock
  /// Called with the error of each dropped grant.
  let report: @Sendable (ContentError) -> Void

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await service.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await service.allProducts() }

  func storefront() async -> Storefront? { await service.storefront() }

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    await checked(try await service.purchase(payment, transaction: transaction))
  }

  var maximumBatchSize: Int { service.maximumBatchSize }

  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    var outcomes: [PurchaseOutcome] = []
    for outcome in await service.purchase(orders) { outcomes.append(await checked(outcome)) }
    return outcomes
  }

  var needsFinishes: Bool { service.needsFinishes }

  func finished(_ transaction: TransactionID, number: String) async throws {
    try await service.finished(transaction, number: number)
  }

  func finished(_ order: PurchaseOrder, number: String) async throws {
    try await service.finished(order, number: number)
  }

  func grants(account: String?) async throws -> [Grant] {
    try await service.grants(account: account).filter { grant in
      guard let error = refusal(of: grant) else { return true }
      report(error)
      return false
    }
  }

  func latestGrant(of product: ProductIdentifier, account: String?) async throws -> Grant? {
    guard let latest = try await service.latest(of: product, account: account) else { return nil }
    if refusal(of: latest) == nil { return latest }
    // An earlier grant may have a valid receipt.
    return try await grants(account: account).last { $0.payment.productIdentifier == product }
  }

  func restore(account: String?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    let purchases = service.restore(account: account)
    return AsyncThrowingStream { continuation in
      let task = Task {
        do {
          var first: ContentError?
          for try await purchase in purchases {
            if let error = refusal(of: purchase.original) {
              first = first ?? error
            } else {
              let contents = await signed(purchase.contents, for: purchase.original)
              continuation.yield(
                RestoredPurchase(original: purchase.original, contents: contents))
            }
          }
          continuation.finish(throwing: first)
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    let events = service.events(after: cursor)
    return AsyncStream { continuation in
      let task = Task {
        for await record in events {
          if let event = await checked(record.event) {
            continuation.yield(StoreEventRecord(event, cursor: record.cursor))
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Returns the checked event; reports a refused grant and returns nil.
  private func checked(_ event: StoreEvent) async -> StoreEvent? {
    switch event {
    case .answered(let transaction, let outcome):
      return .answered(transaction: transaction, await checked(outcome))
    case .granted(let grant, let contents):
      if let error = refusal(of: grant) {
        report(error)
        return nil
      }
      return .granted(grant, contents: await signed(contents, for: grant))
    case .revoked, .storefrontChanged, .promoted, .contentPublished, .checkpoint: return event
    }
  }

  private func checked(_ outcome: PurchaseOutcome) async -> PurchaseOutcome {
    guard case .purchased(let grant, let contents) = outcome else { return outcome }
    if let error = refusal(of: grant) { return .failed(error) }
    return .purchased(grant, contents: await signed(contents, for: grant))
  }

  private func signed(_ named: [ContentOffer], for grant: Grant) async -> [ContentOffer] {
    guard let contents else { return named }
    return await contents.offers(for: named, of: grant.payment.productIdentifier)
  }

  private func refusal(of grant: Grant) -> ContentError? {
    do {
      try verifier?.check(grant, now: clock.now())
      return nil
    } catch {
      let product = grant.payment.productIdentifier.rawValue
      return ContentError(error, while: "checking a receipt for \(product)").about(product)
    }
  }
}
