/// A version of a content package, as described by the signed catalog.
public struct ContentOffer: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The product that the content belongs to.
  public let productIdentifier: ProductIdentifier
  /// The content's identifier; equal to the product's unless the product has several contents.
  public let contentIdentifier: ProductIdentifier
  /// The version.
  public let version: ContentVersion
  /// The size of all installed files in bytes.
  public let installedSize: Int64
  /// The package file.
  public let package: SignedFile
  /// The package's index (`PackageIndex`).
  public let index: SignedFile
  /// Identifies the keys that signed the offer; nil if unknown.
  ///
  /// Two offers signed by the same keys have the same value.
  public let signers: Digest?
  /// The withdrawn versions of the content, or empty.
  ///
  /// This version replaces an installed one of them, even if its number is lower.
  public var withdrawnVersions: [ContentVersion] { withdrawn ?? [] }
  /// Nil instead of empty, so that the JSON of most offers does not have the key.
  private var withdrawn: [ContentVersion]?
  /// The reason why only identifier and version are known; nil if it can be downloaded.
  package private(set) var problem: ContentError?

  /// Creates an offer.
  public init(
    productIdentifier: ProductIdentifier, contentIdentifier: ProductIdentifier,
    version: ContentVersion, installedSize: Int64, package: SignedFile, index: SignedFile,
    signers: Digest? = nil, withdrawnVersions: [ContentVersion] = []
  ) {
    self.signers = signers
    withdrawn = withdrawnVersions.isEmpty ? nil : withdrawnVersions
    self.productIdentifier = productIdentifier
    self.contentIdentifier = contentIdentifier
    self.version = version
    self.installedSize = installedSize
    self.package = package
    self.index = index
  }

  /// Creates an offer with only identifier and version; the queue's catalog provides the rest.
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
      .rootMissing, "\(contentIdentifier) \(version) was not looked up in a store catalog",
      remedy: "Configure the store's trusted root in the queue, or create a complete offer",
      subject: product.rawValue)
  }

  /// Returns this offer with the withdrawn versions of its content.
  package func withdrawing(_ versions: [ContentVersion]) -> ContentOffer {
    var offer = self
    offer.withdrawn = versions.isEmpty ? nil : versions
    return offer
  }

  /// Returns an offer of the same version for `product`, without files, because of `problem`.
  package func unresolved(
    for product: ProductIdentifier, because problem: ContentError
  ) -> ContentOffer {
    var offer = ContentOffer(contentIdentifier, version: version, of: product)
    offer.problem = problem
    return offer
  }

  private enum CodingKeys: String, CodingKey {
    case productIdentifier, contentIdentifier, version, installedSize, package, index, signers
    case withdrawn = "withdrawnVersions"
    case problem
  }

  /// The content and its version, such as `com.example.book 1.0`.
  public var description: String { "\(contentIdentifier) \(version)" }
}

/// A file of a store whose length and digest are signed.
public struct SignedFile: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The path relative to the store's folder, with `/`.
  public let path: String
  /// The length in bytes.
  public let length: Int64
  /// SHA-256 of all bytes.
  public let digest: Digest

  /// Creates a file reference.
  public init(path: String, length: Int64, digest: Digest) {
    self.path = path
    self.length = length
    self.digest = digest
  }

  /// The path and the length.
  public var description: String { "\(path) (\(length) bytes)" }
}
