public import Foundation
import HostedContent

/// The response to a products request.
// Sendable because it is immutable.
open class SKProductsResponse: NSObject, @unchecked Sendable {
  private let values: (products: [SKProduct], invalid: [String])

  /// Creates an empty response, for subclasses in tests.
  public override init() { values = ([], []) }

  init(_ response: ProductsResponse, _ language: String, _ storefront: Storefront?) {
    values = (
      response.products.map { SKProduct($0, language, storefront) },
      (response.invalidProductIdentifiers + response.failures.compactMap(\.subject)).sorted()
    )
  }

  /// The products that were found.
  open var products: [SKProduct] { values.products }
  /// Identifiers that are invalid, or that the store does not offer or cannot describe.
  open var invalidProductIdentifiers: [String] { values.invalid }
}
