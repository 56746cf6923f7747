public import Foundation
import HostedContent

/// The answer to a look-up of products.
// Sendable because nothing of it changes.
open class SKProductsResponse: NSObject, @unchecked Sendable {
  private let values: (products: [SKProduct], invalid: [String])

  /// Creates an empty answer, for subclasses in tests.
  public override init() { values = ([], []) }

  init(_ response: ProductsResponse, _ language: String, _ storefront: Storefront?) {
    values = (
      response.products.map { SKProduct($0, language, storefront) },
      (response.invalidProductIdentifiers + response.failures.compactMap(\.subject)).sorted()
    )
  }

  /// What was found, by identifier.
  open var products: [SKProduct] { values.products }
  /// What the store does not offer or cannot describe, and what is no identifier at all.
  open var invalidProductIdentifiers: [String] { values.invalid }
}
