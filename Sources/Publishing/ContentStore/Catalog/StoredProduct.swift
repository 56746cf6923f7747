public import HostedModel
import HostedTrust

/// A product of a store folder, for its publisher.
public struct StoredProduct: Hashable, Codable, Sendable {
  /// Texts, type and price.
  public let record: ProductRecord
  /// Every version of its contents; empty for a product without content.
  ///
  /// The product's own content is first, then by content identifier, with the newest version of
  /// each first.
  public let versions: [StoredVersion]

  init(_ record: CatalogRecord) {
    self.record = record.description
    versions = record.offers.map(StoredVersion.init)
  }
}

/// A published version of a content package.
public struct StoredVersion: Hashable, Codable, Sendable {
  /// The product of the content.
  public let productIdentifier: ProductIdentifier
  /// The content's identifier.
  ///
  /// Equals the product's identifier unless the product has several contents.
  public let contentIdentifier: ProductIdentifier
  /// The content's version.
  public let version: ContentVersion
  /// The length of the archive in bytes.
  public let length: Int64
  /// The size of all installed files, in bytes.
  public let installedSize: Int64
  /// SHA-256 of the archive.
  public let digest: Digest

  init(_ offer: ContentOffer) {
    productIdentifier = offer.productIdentifier
    contentIdentifier = offer.contentIdentifier
    version = offer.version
    length = offer.package.length
    installedSize = offer.installedSize
    digest = offer.package.digest
  }
}
