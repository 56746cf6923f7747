import HostedModel
import HostedShop

/// Finds the offers of contents whose products are purchased.
///
/// Contents of a product that were added after the purchase belong to the buyer, too.
struct OwnedProducts {
  /// The purchases that count, if they are in the state purchased: one, or all of the account.
  struct Scope {
    /// Nil for a library's own account.
    let account: AccountID?
    var purchase: PurchaseRecord?
  }

  private let scope: Scope
  private let ledger: Ledger
  private let catalog: any ListedCatalog
  private var offers: [ProductIdentifier: [ContentOffer]] = [:]
  private var purchases: [PurchaseRecord]?
  /// The products of the contents as they were sold, and as they are offered now.
  private var sold: [ProductIdentifier: ProductIdentifier]?
  private var offered: [ProductIdentifier: ProductIdentifier]?

  init(_ scope: Scope, _ ledger: Ledger, _ catalog: any ListedCatalog) {
    self.scope = scope
    self.ledger = ledger
    self.catalog = catalog
  }

  /// Returns the offer of a content; throws a problem if it is not purchased or not offered.
  mutating func offer(of wanted: ContentKey) throws -> ContentOffer {
    guard let product = try product(with: wanted.contentIdentifier) else {
      throw Problem.notPurchased("No purchase includes the content \(wanted.contentIdentifier)")
    }
    let offers = try offers[product] ?? catalog.offers(of: product)
    self.offers[product] = offers
    let offer = offers.first {
      $0.contentIdentifier == wanted.contentIdentifier && $0.version == wanted.version
    }
    guard let offer else {
      throw Problem(
        404,
        ContentError(
          .productUnknown,
          "The store does not offer version \(wanted.version) of the content "
            + "\(wanted.contentIdentifier)",
          remedy: "Look up the product again, and request an offered version",
          subject: wanted.contentIdentifier.rawValue))
    }
    return offer
  }

  /// Returns the purchased product that includes `content`; nil if no purchase includes it.
  private mutating func product(with content: ProductIdentifier) throws -> ProductIdentifier? {
    // Most contents have the name of their product.
    if try isPurchased(content) { return content }
    let purchases = try self.purchases ?? readPurchases()
    self.purchases = purchases
    let sold = self.sold ?? Self.productsBySoldContent(purchases)
    self.sold = sold
    // A content belongs to its product forever, so another product may be unreadable.
    if let product = sold[content] { return product }
    let offered = try self.offered ?? productsByOfferedContent(purchases)
    self.offered = offered
    return offered[content]
  }

  private func isPurchased(_ product: ProductIdentifier) throws -> Bool {
    if let purchase = scope.purchase { return purchase.product == product }
    return try ledger.original(of: product, account: scope.account) != nil
  }

  private func readPurchases() throws -> [PurchaseRecord] {
    if let purchase = scope.purchase { return [purchase] }
    return try ledger.originals(account: scope.account)
  }

  private static func productsBySoldContent(_ purchases: [PurchaseRecord])
    -> [ProductIdentifier: ProductIdentifier]
  {
    var products: [ProductIdentifier: ProductIdentifier] = [:]
    for purchase in purchases {
      for sold in purchase.contents { products[sold.contentIdentifier] = purchase.product }
    }
    return products
  }

  private func productsByOfferedContent(_ purchases: [PurchaseRecord]) throws
    -> [ProductIdentifier: ProductIdentifier]
  {
    let current = try catalog.products(Set(purchases.map(\.product)))
    // Without an unreadable product, its contents would be refused as not purchased.
    if let failure = current.failures.first { throw failure }
    var products: [ProductIdentifier: ProductIdentifier] = [:]
    for offer in current.products.flatMap(\.contents) {
      products[offer.contentIdentifier] = offer.productIdentifier
    }
    return products
  }
}

extension Problem {
  static func notPurchased(_ message: String) -> Problem {
    .forbidden(message, remedy: "Buy the product, or use the account or transaction that bought it")
  }
}
