public import HostedCatalog
public import HostedModel
import HostedShop

/// Answers payments: describes products, sells them and lists what an account owns.
///
/// Implement it over your own entitlements, or use the built-in one, which grants every product of
/// a store to every caller. The queue may call several methods at the same time, from any task.
/// The page “Writing a store service” of HostedContent describes how responses are checked.
public protocol StoreService: Sendable {
  /// Looks up products; the response lists unknown ones.
  ///
  /// Throws if the request itself fails.
  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse

  /// Returns all offered products.
  func allProducts() async throws -> ProductsResponse

  /// Buys the product of each order; returns one outcome for each, in the same order.
  ///
  /// `orders` has at least one order, and at most `maximumBatchSize`. A thrown error decides
  /// nothing, because the products may be sold: each order of the call is reported once as
  /// `serviceFailed`, and repeated. The same applies to orders without an outcome. Return `failed`
  /// to refuse a purchase.
  ///
  /// After a thrown error or a crash, an order has the same `transaction` and must get the same
  /// outcome. The grant must be for the same product, quantity and account. Its transaction
  /// identifier must be the order's, or a number of your own that no other purchase has.
  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome]

  /// The maximum number of orders in one call of `purchase(_:)`, 1 to 64.
  ///
  /// If it is 1, the default, the queue makes up to 64 calls at the same time. Otherwise it makes
  /// one call at a time, with all waiting orders.
  var maximumBatchSize: Int { get }

  /// Whether the queue calls `finished(_:number:)`; false by default.
  var needsFinishes: Bool { get }

  /// Records that the purchase of `order` was finished in the queue; `number` is the grant's.
  ///
  /// Called at least once for each finished purchase, even after a crash. If it throws, the queue
  /// calls it again later, after those of other purchases. Calls are made one at a time. The order
  /// has the payment, so that a service that has lost the purchase can sell it again.
  func finished(_ order: PurchaseOrder, number: String) async throws

  /// Returns the grants of an account, oldest first; nil means the library's own account.
  func grants(account: AccountID?) async throws -> [Grant]

  /// Returns the account's finished non-consumable purchases as they are found.
  ///
  /// If the stream ends with an error, the purchases before it are still restored.
  func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error>

  /// Returns the events after `cursor`, then new ones; called once, while a queue opens.
  ///
  /// The queue stores the cursor of an event once the event and all earlier ones are journaled or
  /// reported. After a crash, it requests later events again, so deliver each event at least once.
  /// `cursor` is nil for a new library. If you do not recognize the cursor, begin with new events.
  ///
  /// Do not wait here for another thread that uses the queue: it waits until the queue is open.
  func events(after cursor: String?) -> AsyncStream<StoreEventRecord>

  /// Returns the storefront of the library's account; nil if the service does not have one.
  ///
  /// Requests of the module StoreKit wait for the first response, because prices depend on its
  /// region.
  func storefront() async -> Storefront?
}

extension AsyncThrowingStream where Element == RestoredPurchase, Failure == any Error {
  /// A stream of what `body` finds; its end cancels `body`.
  package static func finding(
    _ body: @escaping @Sendable (_ found: (RestoredPurchase) -> Void) async throws -> Void
  ) -> Self {
    Self { continuation in
      let task = Task {
        do {
          try await body { continuation.yield($0) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

extension StoreService {
  /// Restores one purchase per product from `grants`, with the product's current content.
  public func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    .finding { [self] found in try await restoreFromGrants(account: account, found) }
  }

  /// Passes the purchases of the default restore to `found`.
  package func restoreFromGrants(
    account: AccountID?, _ found: (RestoredPurchase) throws -> Void
  ) async throws {
    var seen: Set<ProductIdentifier> = []
    let originals = try await grants(account: account).filter {
      seen.insert($0.payment.productIdentifier).inserted
    }
    try await restore(originals, found)
  }

  /// Restores `originals`, the first grant of each product of an account.
  package func restore(
    _ originals: [Grant], _ found: (RestoredPurchase) throws -> Void
  ) async throws {
    let response = try await products(Set(originals.map(\.payment.productIdentifier)))
    let offered = Dictionary(response.products.map { ($0.productIdentifier, $0) }) { $1 }
    for original in originals {
      guard let product = offered[original.payment.productIdentifier], product.isRestorable
      else { continue }
      try found(RestoredPurchase(original: original, contents: product.contents))
    }
    // The purchases found are restored; the first failure becomes the error of the restore.
    if let failure = response.failures.first { throw failure }
  }

  /// Returns 1: each call has one order.
  public var maximumBatchSize: Int { 1 }

  /// Returns false: the service is not notified.
  public var needsFinishes: Bool { false }

  /// Does nothing.
  public func finished(_ order: PurchaseOrder, number: String) async throws {}

  /// Returns an empty stream.
  public func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    AsyncStream { $0.finish() }
  }

  /// Returns nil.
  public func storefront() async -> Storefront? { nil }
}
