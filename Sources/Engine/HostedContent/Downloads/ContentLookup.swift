package import ContentModel

/// The contents of a product, without its texts and price.
///
/// Reading texts and price would need the product's record.
package struct ProductContents: Hashable, Sendable {
  package let productIdentifier: ProductIdentifier
  /// Nil if the product has content and its record was not read.
  package let type: ProductType?
  /// See `Product.contents`.
  package let contents: [ContentOffer]
}

extension ProductContents {
  init(_ product: Product) {
    self.init(
      productIdentifier: product.productIdentifier, type: product.type, contents: product.contents)
  }
}

/// The response to a request for the contents of products; see `ProductsResponse`.
package struct ContentsResponse: Hashable, Sendable {
  package let products: [ProductContents]
  package let invalidProductIdentifiers: [String]
  package let failures: [ContentError]
  /// See `ProductsResponse.offeredIdentifiers`.
  package let offeredIdentifiers: [ProductIdentifier]
}

/// A service that can list the contents of products without reading all their records.
protocol ContentLookup: StoreService {
  /// Returns the contents of the given products, or of all products for nil.
  func contents(of identifiers: Set<ProductIdentifier>?) async throws -> ContentsResponse
}

extension StoreService {
  /// Returns the contents of the given products, or of all products for nil.
  ///
  /// Sends as few requests as the service allows.
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
  /// Returns the contents of products; invalid identifiers are returned in the response.
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
