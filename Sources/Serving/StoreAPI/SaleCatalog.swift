package import HostedModel

/// The products that a server sells.
///
/// Thread-safe; calls block.
package protocol SaleCatalog: Sendable {
  /// Changes whenever a product changes.
  var version: String { get throws }
  func products(_ identifiers: Set<ProductIdentifier>) throws -> SaleProducts
  /// Returns up to `limit` products after a position, or the first ones for nil.
  func page(after position: ProductIdentifier?, limit: Int) throws -> SaleProducts
  /// Returns products that need no look-up; nil if one of them does.
  ///
  /// Does not block.
  func known(_ identifiers: Set<ProductIdentifier>) -> SaleProducts?
  /// Returns every offered version of each content of `product`.
  func offers(of product: ProductIdentifier) throws -> [ContentOffer]
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
