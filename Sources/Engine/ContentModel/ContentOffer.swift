/// One version of one content package, as the signed catalog promises it.
public struct ContentOffer: Hashable, Codable, Sendable {
  /// The product that it belongs to.
  public let productIdentifier: ProductIdentifier
  /// The content's own name, which is the product's unless a product has several.
  public let contentIdentifier: ProductIdentifier
  /// Its version.
  public let version: ContentVersion
  /// Bytes of all files once installed.
  public let installedSize: Int64
  /// The archive.
  public let package: SignedFile
  /// The archive's index (`PackageIndex`).
  public let index: SignedFile
  /// Whose word the offer is: the same as long as the same keys sign; nil when nobody said.
  public let signers: Digest?
  /// Why only identifier and version are known; nil for an offer that can be downloaded.
  package private(set) var problem: ContentError?

  /// Creates an offer.
  public init(
    productIdentifier: ProductIdentifier, contentIdentifier: ProductIdentifier,
    version: ContentVersion, installedSize: Int64, package: SignedFile, index: SignedFile,
    signers: Digest? = nil
  ) {
    self.signers = signers
    self.productIdentifier = productIdentifier
    self.contentIdentifier = contentIdentifier
    self.version = version
    self.installedSize = installedSize
    self.package = package
    self.index = index
  }

  /// Names a version of a content for a queue that has a catalog, which says the rest.
  ///
  /// Without a catalog, the download fails with `rootMissing`.
  public init(
    _ contentIdentifier: ProductIdentifier, version: ContentVersion, of product: ProductIdentifier
  ) {
    let nothing = SignedFile(path: "", length: 0, digest: Digest.zero)
    self.init(
      productIdentifier: product, contentIdentifier: contentIdentifier, version: version,
      installedSize: 0, package: nothing, index: nothing)
    problem = ContentError(
      .rootMissing, "The store's catalog was not asked for \(contentIdentifier) \(version)",
      remedy: "Give the queue the store's trusted root, or describe the whole offer",
      subject: product.rawValue)
  }

  /// The same identifier and version for `product`, without files, because of `problem`.
  package func unresolved(
    for product: ProductIdentifier, because problem: ContentError
  ) -> ContentOffer {
    let nothing = SignedFile(path: "", length: 0, digest: package.digest)
    var offer = ContentOffer(
      productIdentifier: product, contentIdentifier: contentIdentifier, version: version,
      installedSize: 0, package: nothing, index: nothing)
    offer.problem = problem
    return offer
  }
}

/// A file of a store whose length and digest are signed.
public struct SignedFile: Hashable, Codable, Sendable {
  /// The path below the store's folder, with `/`, as it is fetched.
  public let path: String
  /// Bytes.
  public let length: Int64
  /// SHA-256 of all bytes.
  public let digest: Digest

  /// Creates a reference.
  public init(path: String, length: Int64, digest: Digest) {
    self.path = path
    self.length = length
    self.digest = digest
  }
}
