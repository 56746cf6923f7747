import HostedModel
import HostedContent

/// A product that `get` or `update` has delivered, and its installed contents.
struct DeliveredProduct: Encodable {
  let productIdentifier: ProductIdentifier
  /// Whether the store offers content for it.
  let hasContent: Bool
  let contents: [Content]

  struct Content: Encodable {
    let contentIdentifier: ProductIdentifier
    let version: ContentVersion
  }

  /// Creates the product with those of its contents that have a version in `installed`.
  ///
  /// An update skips contents that were never installed, so some may be missing.
  init(_ product: Product, _ installed: [ProductIdentifier: ContentVersion]) {
    productIdentifier = product.productIdentifier
    hasContent = !product.contents.isEmpty
    contents = product.contents.map(\.contentIdentifier).compactMap { content in
      installed[content].map { Content(contentIdentifier: content, version: $0) }
    }
  }

  var summary: String {
    guard hasContent else {
      return "\(productIdentifier): bought, the store offers no content for it"
    }
    return contents.map { "\($0.contentIdentifier) \($0.version)" }.joined(separator: ", ")
      + ": installed"
  }
}
