import HostedModel
import FoundationEssentials
import HostedContent
import Testing

/// A service that implements only what its test needs, and passes other calls to `base`.
protocol PartialService: StoreService {
  /// By default, a service without products that defers each purchase.
  var base: any StoreService { get }

  /// Buys the product of one order; by default, from `base`.
  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome
}

extension PartialService {
  var base: any StoreService { EmptyService() }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await base.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await base.allProducts() }

  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    var outcomes: [PurchaseOutcome] = []
    for order in orders { outcomes.append(try await purchase(order)) }
    return outcomes
  }

  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    try #require(try await base.purchase([order]).first)
  }

  func grants(account: AccountID?) async throws -> [Grant] {
    try await base.grants(account: account)
  }
}

/// A service without products that defers each purchase.
struct EmptyService: StoreService {
  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    ProductsResponse(products: [])
  }

  func allProducts() async throws -> ProductsResponse { ProductsResponse(products: []) }

  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    orders.map { _ in .deferred }
  }

  func grants(account: AccountID?) async throws -> [Grant] { [] }
}

/// A service of one offer.
struct OneOfferService: PartialService {
  let offer: ContentOffer

  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    .purchased(Grant(order.transaction.rawValue, order.payment), contents: [offer])
  }
}

extension Grant {
  /// Creates a grant of 1970.
  init(_ number: String, _ payment: Payment, receipt: String? = nil) {
    self.init(
      transactionIdentifier: number, date: Date(timeIntervalSince1970: 1), payment: payment,
      receipt: receipt)
  }
}
