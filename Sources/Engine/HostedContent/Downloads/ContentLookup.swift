package import ContentModel

/// What a product contains; its texts and price are in its record, which is not looked up for this.
package struct ProductContents: Hashable, Sendable {
  package let productIdentifier: ProductIdentifier
  /// Nil if the product has content and its record was not looked up.
  package let type: ProductType?
  /// As `Product.contents`.
  package let contents: [ContentOffer]
}

extension ProductContents {
  init(_ product: Product) {
    self.init(
      productIdentifier: product.productIdentifier, type: product.type, contents: product.contents)
  }
}

/// The answer to a look-up of what products contain; as `ProductsResponse`.
package struct ContentsResponse: Hashable, Sendable {
  package let products: [ProductContents]
  package let invalidProductIdentifiers: [String]
  package let failures: [ContentError]
  /// As `ProductsResponse.offeredIdentifiers`.
  package let offeredIdentifiers: [ProductIdentifier]
}

/// A service that knows what products contain without a look-up of all their records.
protocol ContentLookup: StoreService {
  /// What the products with these identifiers contain, all for nil.
  func contents(of identifiers: Set<ProductIdentifier>?) async throws -> ContentsResponse
}

extension StoreService {
  /// What products contain, all for nil; with as few requests as the service can do with.
  func lookUpContents(of identifiers: Set<ProductIdentifier>?) async throws -> ContentsResponse {
    if let service = self as? any ContentLookup {
      return try await service.contents(of: identifiers)
    }
    let response = try await allOrSome(identifiers)
    return ContentsResponse(
      products: response.products.map(ProductContents.init),
      invalidProductIdentifiers: response.invalidProductIdentifiers, failures: response.failures,
      offeredIdentifiers: response.offeredIdentifiers)
  }

  private func allOrSome(_ identifiers: Set<ProductIdentifier>?) async throws -> ProductsResponse {
    if let identifiers { return try await products(identifiers) }
    return try await allProducts()
  }
}

extension PaymentQueue {
  /// What products contain; texts that are no identifiers come back as invalid.
  package func productContents(of identifiers: Set<String>) async throws -> ContentsResponse {
    let valid = Set(identifiers.compactMap { try? ProductIdentifier(validating: $0) })
    let response = try await service.lookUpContents(of: valid)
    let invalid = identifiers.subtracting(valid.map(\.rawValue))
    return ContentsResponse(
      products: response.products,
      invalidProductIdentifiers: (response.invalidProductIdentifiers + invalid).sorted(),
      failures: response.failures, offeredIdentifiers: response.offeredIdentifiers)
  }
}
