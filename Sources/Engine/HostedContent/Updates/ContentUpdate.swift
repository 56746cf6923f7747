public import ContentModel

/// A product whose content the store offers in a newer version than the library has.
public struct ContentUpdate: Hashable, Codable, Sendable {
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// The content, which is the product's own unless it has several.
  public let contentIdentifier: ProductIdentifier
  /// The version in the library that `current` names.
  public let installed: ContentVersion
  /// The version that the catalog offers.
  public let offered: ContentVersion
  /// Bytes that the update would fetch at most; exact once it was measured.
  ///
  /// Measured by `LibraryReader.updates(of:from:network:)`: what installed files need not be
  /// fetched for is left out, and what one request for two pieces brings between them is in it.
  public internal(set) var bytesToMove: Int64
  /// Why all of the package is fetched whatever is installed, one sentence; nil when it is taken
  /// apart, or was not measured.
  public internal(set) var wholePackageReason: String?
  /// Why it could not be measured, so that `bytesToMove` is only the most; nil when it was, or
  /// nobody asked.
  public internal(set) var measuringError: ContentError?
  /// Bytes that a download from nothing would fetch.
  public let bytesInFull: Int64

  /// The update that brings `installed` to what is offered.
  package init(of offer: ContentOffer, from installed: ContentVersion) {
    productIdentifier = offer.productIdentifier
    contentIdentifier = offer.contentIdentifier
    self.installed = installed
    offered = offer.version
    bytesToMove = offer.package.length + offer.index.length
    bytesInFull = offer.package.length + offer.index.length
  }

  /// Whether `offer` is of the version that it updates to.
  func isOf(_ offer: ContentOffer) -> Bool {
    offer.contentIdentifier == contentIdentifier && offer.version == offered
  }
}

/// A content that the store offers in an older version only than the library has.
///
/// It is reported, since a store that goes back deserves a look; nothing is installed by it.
public struct ContentDowngrade: Hashable, Codable, Sendable {
  /// The product.
  public let productIdentifier: ProductIdentifier
  /// The content.
  public let contentIdentifier: ProductIdentifier
  /// The newest version in the library.
  public let installed: ContentVersion
  /// The version that the catalog offers.
  public let offered: ContentVersion
}

/// Compares what is offered with what is installed; pure.
struct UpdateComparison: Hashable, Sendable {
  /// Newer versions, by product and content; what is not installed is no update.
  private(set) var updates: [ContentUpdate] = []
  /// Older versions, by product and content.
  private(set) var downgrades: [ContentDowngrade] = []

  /// `current` is what is in use; a newer version beside it needs no update.
  init(
    of products: [ProductContents], installed: [InstalledContent],
    current: [ProductIdentifier: ContentVersion]
  ) {
    var newest: [ProductIdentifier: ContentVersion] = [:]
    for content in installed {
      let known = newest[content.contentIdentifier] ?? content.version
      newest[content.contentIdentifier] = max(known, content.version)
    }
    for product in products.sorted(by: { $0.productIdentifier < $1.productIdentifier }) {
      for offer in product.contents {
        guard let version = newest[offer.contentIdentifier] else { continue }
        if version < offer.version {
          let inUse = current[offer.contentIdentifier] ?? version
          updates.append(ContentUpdate(of: offer, from: inUse))
        } else if version > offer.version {
          downgrades.append(
            ContentDowngrade(
              productIdentifier: product.productIdentifier,
              contentIdentifier: offer.contentIdentifier, installed: version,
              offered: offer.version))
        }
      }
    }
  }
}
