public import ContentModel

/// A product whose content the store offers in a newer version than the library has.
public struct ContentUpdate: Hashable, Codable, Sendable {
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// The content, which is the product's own unless it has several.
  public let contentIdentifier: ProductIdentifier
  /// The version in the library that `current` names.
  public let installed: ContentVersion
  /// The version that the catalogue offers.
  public let offered: ContentVersion
  /// Bytes that the update would fetch.
  public let bytesToMove: Int64
  /// Bytes that a download from nothing would fetch.
  public let bytesInFull: Int64

  /// The update that brings `installed` to what is offered.
  package init(of offer: ContentOffer, from installed: ContentVersion) {
    productIdentifier = offer.productIdentifier
    contentIdentifier = offer.contentIdentifier
    self.installed = installed
    offered = offer.version
    bytesToMove = offer.package.length
    bytesInFull = offer.package.length
  }
}

/// Compares what is offered with what is installed; pure.
enum UpdateMonitor {
  /// The updates for `products`, by product and content; what is not installed is no update.
  static func updates(
    of products: [Product], installed: [ProductIdentifier: ContentVersion]
  ) -> [ContentUpdate] {
    products.sorted { $0.productIdentifier < $1.productIdentifier }.flatMap { product in
      product.contents.compactMap { offer in
        guard let version = installed[offer.contentIdentifier], version < offer.version else {
          return nil
        }
        return ContentUpdate(of: offer, from: version)
      }
    }
  }
}
