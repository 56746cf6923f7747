public import ContentModel

/// Who sells: what there is, who may have it, what an account has.
///
/// Implement it over your own entitlements, or use the built-in one, which grants every product of
/// a store. Calls may come from any task, several at the same time. A purchase is asked again after
/// a crash, with the same transaction, and must then give the same answer.
/// <doc:WritingAStoreService> says how answers are checked.
public protocol StoreService: Sendable {
  /// Looks up products; unknown ones are named in the response. Throws when nothing can be known.
  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse

  /// Every product that is offered.
  func allProducts() async throws -> ProductsResponse

  /// Sells what `payment` asks for; `transaction` is the same when it is asked again.
  ///
  /// The grant must be for the same product, quantity and account. Its transaction identifier may
  /// not have answered another order: use `transaction`, or a number of your own for each.
  func purchase(_ payment: Payment, transaction: String) async throws -> PurchaseOutcome

  /// What an account was granted, oldest first; nil is the library's own account.
  func grants(account: String?) async throws -> [Grant]

  /// The account's finished non-consumable purchases, as they are found; what is yielded before an
  /// error is delivered all the same.
  func restore(account: String?) -> AsyncThrowingStream<RestoredPurchase, any Error>

  /// What happens on the seller's side from now on; each queue asks once, while it is being opened.
  ///
  /// Do not wait here for another thread that uses the queue: it waits until the queue is open.
  func events() -> AsyncStream<StoreEvent>

  /// Where the library's account buys; nil when the seller does not say.
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

  /// Nothing happens on the seller's side.
  public func events() -> AsyncStream<StoreEvent> { AsyncStream { $0.finish() } }

  /// The seller does not say.
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
    let valid = Set(texts.compactMap { try? ProductIdentifier($0) })
    return (valid, texts.filter { text in !valid.contains { $0.rawValue == text } })
  }

  private func adding(invalid: [String]) -> ProductsResponse {
    ProductsResponse(
      products: products,
      invalidProductIdentifiers: (invalidProductIdentifiers + invalid).sorted(), failures: failures
    ).offering(offeredIdentifiers)
  }
}
