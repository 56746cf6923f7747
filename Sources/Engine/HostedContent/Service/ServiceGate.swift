import HostedCatalog
import HostedSelling
import HostedStoreClient
import HostedConcurrency
import HostedModel
import HostedTransfer

/// Checks a store service's responses as they arrive, before anything is journaled.
///
/// Receipts: a purchase with an invalid receipt fails. A grant without a request is reported and
/// dropped. Both wait while receipts cannot be checked, and so do later events, such as a
/// revocation of the grant. A restore delivers the valid purchases and then ends with the error.
/// Contents: the service names them, and the catalog provides the details.
struct ServiceGate: GrantLookup {
  let service: any StoreService
  /// Throws the reason why the receipt of a grant is invalid; nil if receipts are not checked.
  let checkReceipt: (@Sendable (Grant) async throws -> Void)?
  /// Nil if contents are not looked up in a catalog.
  let contents: SignedContents?
  /// Delays between checks.
  var environment = Environment()
  /// Called with the error of each grant that is dropped, or that waits for its check.
  let report: @Sendable (ContentError) -> Void

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await service.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await service.allProducts() }

  func storefront() async -> Storefront? { await service.storefront() }

  var maximumBatchSize: Int { service.maximumBatchSize }

  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    let outcomes = try await service.purchase(orders)
    // At the same time, so that they share a refresh of the catalog.
    return await concurrently(Array(zip(orders, outcomes))) { order, outcome in
      do {
        return try await checked(outcome)
      } catch {
        // The queue is closed, and ignores the outcome.
        return PurchaseOutcome(of: order, after: error)
      }
    }
  }

  var needsFinishes: Bool { service.needsFinishes }

  func finished(_ order: PurchaseOrder, number: String) async throws {
    try await service.finished(order, number: number)
  }

  func grants(account: AccountID?) async throws -> [Grant] {
    let grants = try await service.grants(account: account)
    return try zip(grants, await refusals(of: grants)).compactMap { grant, error in
      guard let error else { return grant }
      // A grant that cannot be checked is not missing, which could remove its content.
      guard error.code == .receiptInvalid else { throw error }
      report(error)
      return nil
    }
  }

  func latestGrant(of product: ProductIdentifier, account: AccountID?) async throws -> Grant? {
    guard let latest = try await service.latest(of: product, account: account) else { return nil }
    if await refusal(of: latest) == nil { return latest }
    // An earlier grant may have a valid receipt.
    return try await grants(account: account).last { $0.payment.productIdentifier == product }
  }

  func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    let purchases = service.restore(account: account)
    return .finding { found in
      var first: ContentError?
      for try await purchase in purchases {
        if let error = await refusal(of: purchase.original) {
          first = first ?? error
        } else {
          let contents = await signed(purchase.contents, for: purchase.original)
          found(RestoredPurchase(original: purchase.original, contents: contents))
        }
      }
      if let first { throw first }
    }
  }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    let events = service.events(after: cursor)
    return AsyncStream { continuation in
      let task = Task {
        for await record in events {
          if let event = try? await checked(record.event) {
            continuation.yield(StoreEventRecord(event, cursor: record.cursor))
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Returns the checked event; reports a refused grant and returns nil.
  ///
  /// Throws if the queue is closed meanwhile; the next start gets the event again.
  private func checked(_ event: StoreEvent) async throws -> StoreEvent? {
    switch event {
    case .answered(let transaction, let outcome):
      return .answered(transaction: transaction, try await checked(outcome))
    case .granted(let grant, let contents):
      if let error = try await decidedRefusal(of: grant) {
        report(error)
        return nil
      }
      return .granted(grant, contents: await signed(contents, for: grant))
    case .revoked, .storefrontChanged, .promoted, .contentPublished, .checkpoint: return event
    }
  }

  private func checked(_ outcome: PurchaseOutcome) async throws -> PurchaseOutcome {
    guard case .purchased(let grant, let contents) = outcome else { return outcome }
    if let error = try await decidedRefusal(of: grant) { return .failed(error) }
    return .purchased(grant, contents: await signed(contents, for: grant))
  }

  private func signed(_ named: [ContentOffer], for grant: Grant) async -> [ContentOffer] {
    guard let contents else { return named }
    return await contents.offers(for: named, of: grant.payment.productIdentifier)
  }

  /// The number of grants that a task checks; it takes about 20 ms.
  private static let checkedTogether = 200

  /// Returns the reason why each grant is refused, or nil; checks many in parallel.
  private func refusals(of grants: [Grant]) async -> [ContentError?] {
    guard checkReceipt != nil else { return grants.map { _ in nil } }
    let portions = stride(from: 0, to: grants.count, by: Self.checkedTogether).map {
      grants[$0...].prefix(Self.checkedTogether)
    }
    let refusals = await concurrently(portions) { portion in
      var refusals: [ContentError?] = []
      for grant in portion { refusals.append(await refusal(of: grant)) }
      return refusals
    }
    return refusals.flatMap { $0 }
  }

  /// Like `refusal`, but repeats a check that fails for another reason than an invalid receipt,
  /// such as because the catalog cannot be read.
  ///
  /// The buyer may have paid, so that the purchase can neither fail nor be accepted unchecked.
  /// Reports the first error. Throws if the task is cancelled or the queue is closed.
  private func decidedRefusal(of grant: Grant) async throws -> ContentError? {
    let retryPolicy = RetryPolicy(firstDelay: 1, longestDelay: 64)
    var failures = 0
    while let error = await refusal(of: grant) {
      if error.code == .receiptInvalid { return error }
      if error.code == .stopped { throw error }
      if failures == 0 { report(error) }
      failures += 1
      let delay = retryPolicy.delay(
        afterFailure: failures, retryAfter: nil, random: environment.random())
      try await environment.sleep(.seconds(delay))
    }
    return nil
  }

  private func refusal(of grant: Grant) async -> ContentError? {
    do {
      try await checkReceipt?(grant)
      return nil
    } catch {
      let product = grant.payment.productIdentifier.rawValue
      return ContentError(error, while: "checking a receipt for \(product)").about(product)
    }
  }
}

extension PaymentQueue.Configuration {
  /// Returns `service`, with checks of receipts and contents as far as they are configured.
  func checkingAnswers(
    of service: any StoreService, contents: SignedContents?,
    report: @escaping @Sendable (ContentError) -> Void
  ) -> any StoreService {
    // `receiptKey` is for the built-in store service, so another one may sign with other keys.
    let own = self.service == nil ? receiptKey.map { [$0.verificationKey] } : nil
    // The account in receipts for grants without an account; usually nil.
    let ownAccount = (self.service as? HTTPStoreService)?.connection.pinnedAccount
    var checkReceipt: (@Sendable (Grant) async throws -> Void)?
    if let verifier = receiptVerifier ?? own.map(ReceiptVerifier.init(keys:)) {
      checkReceipt = { [clock] grant in
        try verifier.check(grant, ownAccount: ownAccount, now: clock.now())
      }
    } else if self.service != nil, let contents {
      checkReceipt = { try await contents.checkReceipt(of: $0, ownAccount: ownAccount) }
    }
    // The built-in store service takes its contents from the catalog already.
    let contents = self.service == nil && seller == nil ? nil : contents
    guard checkReceipt != nil || contents != nil else { return service }
    return ServiceGate(
      service: service, checkReceipt: checkReceipt, contents: contents, environment: environment,
      report: report)
  }
}
