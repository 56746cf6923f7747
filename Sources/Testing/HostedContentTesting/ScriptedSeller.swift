import HostedModel
import FoundationEssentials
import HostedContent
import HostedConcurrency
import HostedShop

/// The service of one engine: the built-in one, overridden by the session's script.
final class ScriptedSeller: StoreService {
  private let store: any StoreService
  private let script: SessionScript
  private let clock: TestClock
  private let stream: AsyncStream<StoreEventRecord>
  private let sender: AsyncStream<StoreEventRecord>.Continuation

  init(_ store: any StoreService, _ script: SessionScript, _ clock: TestClock) {
    self.store = store
    self.script = script
    self.clock = clock
    (stream, sender) = AsyncStream.makeStream()
  }

  func send(_ event: StoreEvent) { sender.yield(StoreEventRecord(event, cursor: nil)) }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await store.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await store.allProducts() }

  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    var outcomes: [PurchaseOutcome] = []
    for order in orders { outcomes += try await purchase(order) }
    return outcomes
  }

  private func purchase(_ order: PurchaseOrder) async throws -> [PurchaseOutcome] {
    let answer = script.change { $0.answer(to: order.payment, transaction: order.transaction) }
    if let answer { return [answer] }
    // The built-in service would ask again.
    var payment = order.payment
    payment.simulatesAskToBuy = false
    let outcomes = try await store.purchase([
      PurchaseOrder(
        payment: payment, transaction: order.transaction, isRepeated: order.isRepeated)
    ])
    // If the queue repeats it, later rules do not apply to a payment that is sold.
    if case .purchased? = outcomes.first {
      script.change { $0.decisions[order.transaction] = .approved }
    }
    return outcomes
  }

  func grants(account: AccountID?) async throws -> [Grant] {
    let grants = try await store.grants(account: account)
    let now = clock.now
    return script.change { $0.valid(grants, at: now) }
  }

  /// All grants, including those that the account no longer owns.
  func history(account: AccountID?) async throws -> [Grant] {
    try await store.grants(account: account)
  }

  /// Changes purchases in the ledger of the store's own shop, so that they can be bought again.
  func change(_ numbers: [String], _ change: PurchaseChange) async throws {
    guard let shop = store as? LocalShop else { return }
    for number in numbers { _ = try await shop.change(TransactionID(rawValue: number), change) }
  }

  func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    .finding { [self] found in
      let failure = script.change { script in
        defer { script.restoreFailure = nil }
        return script.restoreFailure
      }
      var count = 0
      try await restoreFromGrants(account: account) { purchase in
        if let failure, count >= failure.after { throw failure.error }
        found(purchase)
        count += 1
      }
      if let failure { throw failure.error }
    }
  }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> { stream }

  func storefront() async -> Storefront? { script.change { $0.storefront } }
}

/// The script of a session; it outlives the services that use it.
final class SessionScript: Sendable {
  private let script = Mutex(SellerScript())

  /// Reads or changes the script.
  func change<Value: Sendable>(_ body: (inout SellerScript) throws -> Value) rethrows -> Value {
    try script.withLock { try body(&$0) }
  }
}
