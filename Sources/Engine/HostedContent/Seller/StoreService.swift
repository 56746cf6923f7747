public import ContentModel

/// The seller: products, purchases and entitlements.
///
/// Implement it over your own entitlements, or use the built-in one, which grants every product of
/// a store to every caller. The queue may call several methods at the same time, from any task.
/// <doc:WritingAStoreService> says how answers are checked.
public protocol StoreService: Sendable {
  /// Looks up products. The response names unknown ones; throws if the lookup itself fails.
  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse

  /// All products that are offered.
  func allProducts() async throws -> ProductsResponse

  /// Sells what `payment` asks for.
  ///
  /// After a crash the purchase is asked again with the same `transaction`, and must get the same
  /// answer. The grant must be for the same product, quantity and account. Its transaction
  /// identifier must be `transaction`, or a number of your own that answers no other purchase.
  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome

  /// The number of purchases that one call of `purchase(_:)` takes, 1 to 64.
  ///
  /// If it is 1, which is the default, the queue makes up to 64 calls of
  /// `purchase(_:transaction:)` at the same time. Otherwise it makes one call at a time, for all
  /// orders that wait.
  var maximumBatchSize: Int { get }

  /// Sells what each order asks for; returns one outcome for each, in the same order.
  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome]

  /// Whether the queue calls `finished(_:number:)`; false by default.
  var needsFinishes: Bool { get }

  /// Is told that a purchase was finished in the queue; `number` is the grant's.
  ///
  /// Called at least once for each finished purchase, also after a crash. If it throws, it is called
  /// again later, and the notices of other purchases wait.
  func finished(_ transaction: TransactionID, number: String) async throws

  /// The grants of an account, oldest first; nil is the library's own account.
  func grants(account: String?) async throws -> [Grant]

  /// The account's finished non-consumable purchases, as they are found.
  ///
  /// If the stream ends with an error, the purchases before it are restored.
  func restore(account: String?) -> AsyncThrowingStream<RestoredPurchase, any Error>

  /// The events after the position `cursor`, and then new ones; called once, while a queue opens.
  ///
  /// The queue stores the cursor of an event once the event and all before it are journaled or were
  /// reported. After a crash it gets later events again, so deliver each at least once. `cursor` is
  /// nil for a new library. If you do not know the cursor any more, begin with new events.
  ///
  /// Do not wait here for another thread that uses the queue: it waits until the queue is open.
  func events(after cursor: String?) -> AsyncStream<StoreEventRecord>

  /// The storefront of the library's account; nil if the seller has none.
  ///
  /// Requests of the module StoreKit wait for the first answer, since prices have its region.
  func storefront() async -> Storefront?
}

extension StoreService {
  /// Restores what `grants` says, one purchase a product, with its products' present content.
  public func restore(account: String?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        do {
          try await restore(account: account) { continuation.yield($0) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func restore(account: String?, _ found: (RestoredPurchase) -> Void) async throws {
    let originals = try await originals(account: account)
    let response = try await products(Set(originals.map(\.payment.productIdentifier)))
    let offered = Dictionary(response.products.map { ($0.productIdentifier, $0) }) { $1 }
    for original in originals {
      guard let product = offered[original.payment.productIdentifier],
        product.type == .nonConsumable || product.type == .autoRenewable
      else { continue }
      found(RestoredPurchase(original: original, contents: product.contents))
    }
    // Those that could be restored were; the first that could not is the restore's error.
    if let failure = response.failures.first { throw failure }
  }

  /// False: the seller is not told.
  public var needsFinishes: Bool { false }

  /// Does nothing.
  public func finished(_ transaction: TransactionID, number: String) async throws {}

  /// No events.
  public func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    AsyncStream { $0.finish() }
  }

  /// No storefront.
  public func storefront() async -> Storefront? { nil }
}

/// The answer to a look-up.
public struct ProductsResponse: Hashable, Sendable {
  /// What was found, by identifier.
  public let products: [Product]
  /// What the store does not offer, and what is no identifier at all.
  public let invalidProductIdentifiers: [String]
  /// Products that the store offers but cannot describe; the others are not affected.
  public let failures: [ContentError]
  /// What the store offers instead, for suggestions; empty unless something is not offered.
  package private(set) var offeredIdentifiers: [ProductIdentifier] = []

  /// Creates a response.
  public init(
    products: [Product], invalidProductIdentifiers: [String] = [], failures: [ContentError] = []
  ) {
    self.products = products
    self.invalidProductIdentifiers = invalidProductIdentifiers
    self.failures = failures
  }

  /// The same response, with what the store offers.
  func offering(_ identifiers: [ProductIdentifier]) -> ProductsResponse {
    var response = self
    response.offeredIdentifiers = identifiers
    return response
  }
}

extension ProductsResponse {
  /// Looks up `texts`; those that are no identifiers come back as invalid, as they were written.
  init(
    to texts: Set<String>, from products: (Set<ProductIdentifier>) async throws -> ProductsResponse
  ) async rethrows {
    let (valid, invalid) = Self.sorted(texts)
    self = try await products(valid).adding(invalid: invalid)
  }

  /// The same without waiting.
  init(to texts: Set<String>, from products: (Set<ProductIdentifier>) throws -> ProductsResponse)
    rethrows
  {
    let (valid, invalid) = Self.sorted(texts)
    self = try products(valid).adding(invalid: invalid)
  }

  private static func sorted(_ texts: Set<String>) -> (Set<ProductIdentifier>, [String]) {
    let valid = Set(texts.compactMap { try? ProductIdentifier(validating: $0) })
    return (valid, texts.filter { text in !valid.contains { $0.rawValue == text } })
  }

  private func adding(invalid: [String]) -> ProductsResponse {
    ProductsResponse(
      products: products,
      invalidProductIdentifiers: (invalidProductIdentifiers + invalid).sorted(), failures: failures
    ).offering(offeredIdentifiers)
  }
}
