import ContentModel
import HostedContent

/// A product that `get` has bought, and its installed contents.
struct DeliveredProduct: Encodable {
  let productIdentifier: ProductIdentifier
  /// Whether the store offers content for it.
  let hasContent: Bool
  let contents: [Content]

  struct Content: Encodable {
    let contentIdentifier: String
    let version: String
  }

  init(_ product: Product, contents: [Content]) {
    productIdentifier = product.productIdentifier
    hasContent = !product.contents.isEmpty
    self.contents = contents
  }

  var summary: String {
    guard hasContent else {
      return "\(productIdentifier): bought, the store offers no content for it"
    }
    return contents.map { "\($0.contentIdentifier) \($0.version)" }.joined(separator: ", ")
      + ": installed"
  }
}
