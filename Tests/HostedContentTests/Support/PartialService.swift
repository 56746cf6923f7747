import HostedModel
import FoundationEssentials
import HostedContent

/// A service that implements only what its test needs, and passes other calls to `base`.
protocol PartialService: StoreService {
  /// By default, a seller without products that defers each purchase.
  var base: any StoreService { get }
}

extension PartialService {
  var base: any StoreService { EmptySeller() }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await base.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await base.allProducts() }

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    try await base.purchase(payment, transaction: transaction)
  }

  func grants(account: AccountID?) async throws -> [Grant] {
    try await base.grants(account: account)
  }
}

/// A seller without products that defers each purchase.
struct EmptySeller: StoreService {
  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    ProductsResponse(products: [])
  }

  func allProducts() async throws -> ProductsResponse { ProductsResponse(products: []) }

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    .deferred
  }

  func grants(account: AccountID?) async throws -> [Grant] { [] }
}

/// A seller of one offer.
struct OneOfferSeller: PartialService {
  let offer: ContentOffer

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    .purchased(Grant(transaction.rawValue, payment), contents: [offer])
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
