public import HostedModel

/// The response to a products request.
public struct ProductsResponse: Hashable, Sendable {
  /// The products that were found, by identifier.
  public let products: [Product]
  /// Identifiers that the store does not offer, and texts that are not valid identifiers.
  public let invalidProductIdentifiers: [String]
  /// Errors of products that the store offers but cannot describe; others are not affected.
  public let failures: [ContentError]
  /// All offered identifiers, for suggestions; empty if all requested products were found.
  package private(set) var offeredIdentifiers: [ProductIdentifier] = []

  /// Creates a response.
  public init(
    products: [Product], invalidProductIdentifiers: [String] = [], failures: [ContentError] = []
  ) {
    self.products = products
    self.invalidProductIdentifiers = invalidProductIdentifiers
    self.failures = failures
  }

  /// Returns the response with the identifiers that the store offers.
  package func offering(_ identifiers: [ProductIdentifier]) -> ProductsResponse {
    var response = self
    response.offeredIdentifiers = identifiers
    return response
  }
}

extension ProductsResponse {
  /// Looks up `texts`; those that are not identifiers are returned as invalid, unchanged.
  package init(
    to texts: Set<String>, from products: (Set<ProductIdentifier>) async throws -> ProductsResponse
  ) async rethrows {
    let (valid, invalid) = Self.sorted(texts)
    self = try await products(valid).adding(invalid: invalid)
  }

  /// Divides `texts` into identifiers and others.
  package static func sorted(_ texts: Set<String>) -> (Set<ProductIdentifier>, [String]) {
    var (valid, invalid): (Set<ProductIdentifier>, [String]) = ([], [])
    for text in texts {
      if let identifier = try? ProductIdentifier(validating: text) {
        valid.insert(identifier)
      } else {
        invalid.append(text)
      }
    }
    return (valid, invalid)
  }

  package func adding(invalid: [String]) -> ProductsResponse {
    ProductsResponse(
      products: products,
      invalidProductIdentifiers: (invalidProductIdentifiers + invalid).sorted(), failures: failures
    ).offering(offeredIdentifiers)
  }
}

extension ProductsResponse: CustomStringConvertible {
  /// The identifiers of the products, the invalid identifiers, and the failures.
  public var description: String {
    let invalid = invalidProductIdentifiers.map { $0.printable(limit: 200) }
    return "products: \(products.map(\.productIdentifier)); invalid: \(invalid); "
      + "failures: \(failures)"
  }
}
