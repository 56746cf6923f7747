import FoundationEssentials
import HostedModel
import HostedContent
import HostedConcurrency

/// A service with responses and events set by a test, and the contents of a store.
final class ScriptedService: PartialService {
  private let state = Mutex(State())
  private let eventStream: AsyncStream<StoreEventRecord>
  private let sender: AsyncStream<StoreEventRecord>.Continuation

  private struct State {
    var products: [ProductIdentifier: Product] = [:]
    var outcomes: [ProductIdentifier: PurchaseOutcome] = [:]
    var grants: [Grant] = []
    /// The number of purchases after which a restore fails, and the error.
    var restoreFailure: (after: Int, error: ContentError)?
    var purchases: [TransactionID] = []
    var lookups = 0
    var holdsGrants = false
    /// The look-ups of grants that wait, in order.
    var held: [CheckedContinuation<Void, Never>] = []
  }

  init(_ products: [Product] = []) {
    (eventStream, sender) = AsyncStream.makeStream()
    state.withLock { state in
      for product in products { state.products[product.productIdentifier] = product }
    }
  }

  func send(_ event: StoreEvent, cursor: String? = nil) {
    sender.yield(StoreEventRecord(event, cursor: cursor))
  }

  /// Offers `product` from now on.
  func offer(_ product: Product) {
    state.withLock { $0.products[product.productIdentifier] = product }
  }

  func answer(_ product: ProductIdentifier, _ outcome: PurchaseOutcome) {
    state.withLock { $0.outcomes[product] = outcome }
  }

  func grant(_ product: ProductIdentifier, _ id: String, account: AccountID? = nil) -> Grant {
    let grant = Grant(
      id, Payment(productIdentifier: product, applicationUsername: account))
    state.withLock { $0.grants.append(grant) }
    return grant
  }

  /// Takes all grants of `product` back from `account`.
  func revoke(_ product: ProductIdentifier, from account: AccountID? = nil) {
    state.withLock { state in
      state.grants.removeAll {
        $0.payment.productIdentifier == product && $0.payment.applicationUsername == account
      }
    }
  }

  func failRestore(after count: Int, _ error: ContentError) {
    state.withLock { $0.restoreFailure = (count, error) }
  }

  var purchases: [TransactionID] { state.withLock { $0.purchases } }

  /// The number of calls of `products(_:)`.
  var lookups: Int { state.withLock { $0.lookups } }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    let known = state.withLock { state in
      state.lookups += 1
      return state.products
    }
    return ProductsResponse(
      products: identifiers.compactMap { known[$0] },
      invalidProductIdentifiers: identifiers.filter { known[$0] == nil }.map(\.rawValue))
  }

  func allProducts() async throws -> ProductsResponse {
    ProductsResponse(products: state.withLock { Array($0.products.values) })
  }

  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    let name = order.payment.productIdentifier
    let (outcome, product) = state.withLock { state in
      state.purchases.append(order.transaction)
      return (state.outcomes[name], state.products[name])
    }
    if let outcome { return outcome }
    let grant = Grant(order.transaction.rawValue, order.payment)
    state.withLock { $0.grants.append(grant) }
    return .purchased(grant, contents: product?.contents ?? [])
  }

  func grants(account: AccountID?) async throws -> [Grant] {
    let (grants, isHeld) = state.withLock { ($0.grants, $0.holdsGrants) }
    if isHeld {
      await withCheckedContinuation { continuation in
        state.withLock { $0.held.append(continuation) }
      }
    }
    return grants.filter { $0.payment.applicationUsername == account }
  }

  /// Lets look-ups of grants wait from now on; they return the grants at the time of the call.
  func holdGrants() { state.withLock { $0.holdsGrants = true } }

  /// The number of look-ups of grants that wait.
  var heldCount: Int { state.withLock { $0.held.count } }

  /// Lets the first look-up that waits continue.
  func releaseGrants() { state.withLock { $0.held.removeFirst() }.resume() }

  func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    AsyncThrowingStream { continuation in
      let (grants, products, failure) = state.withLock {
        ($0.grants, $0.products, $0.restoreFailure)
      }
      for (number, grant) in grants.enumerated() where grant.payment.applicationUsername == account
      {
        if let failure, number >= failure.after {
          return continuation.finish(throwing: failure.error)
        }
        let contents = products[grant.payment.productIdentifier]?.contents ?? []
        continuation.yield(RestoredPurchase(original: grant, contents: contents))
      }
      continuation.finish()
    }
  }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> { eventStream }

  func storefront() async -> Storefront? { Storefront(countryCode: "FIN", identifier: "1") }
}
