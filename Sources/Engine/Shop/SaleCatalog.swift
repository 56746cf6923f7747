package import HostedModel

/// The products that a shop sells.
///
/// Thread-safe; calls block.
package protocol SaleCatalog: Sendable {
  func products(_ identifiers: Set<ProductIdentifier>) throws -> SaleProducts
  /// Returns products that need no look-up; nil if one of them does.
  ///
  /// Does not block.
  func known(_ identifiers: Set<ProductIdentifier>) -> SaleProducts?
}

/// The result of a look-up in the catalog.
package struct SaleProducts: Sendable {
  package let products: [Product]
  package let invalid: [String]
  package let failures: [ContentError]
  /// The position of the next page; nil for the last page and for named products.
  package let next: ProductIdentifier?

  package init(
    products: [Product], invalid: [String] = [], failures: [ContentError] = [],
    next: ProductIdentifier? = nil
  ) {
    self.products = products
    self.invalid = invalid
    self.failures = failures
    self.next = next
  }
}

extension SaleProducts {
  /// Returns the product, or why it is not sold.
  func product(_ identifier: ProductIdentifier) -> Result<Product, SaleRefusal> {
    if let product = products.first(where: { $0.productIdentifier == identifier }) {
      return .success(product)
    }
    if let failure = failures.first(where: { $0.subject == identifier.rawValue }) {
      return .failure(.catalogFailed(failure))
    }
    return .failure(.notOffered(identifier))
  }
}
