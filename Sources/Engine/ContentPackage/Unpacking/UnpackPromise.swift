package import ContentModel

/// What the signed catalog said a package is; unpacking anything else is refused.
package struct UnpackPromise: Sendable {
  /// The product that ContentInfo.plist must name.
  package let productIdentifier: ProductIdentifier
  /// The content that ContentInfo.plist must name, or imply by naming the product alone.
  package let contentIdentifier: ProductIdentifier
  /// The version that ContentInfo.plist must name.
  package let version: ContentVersion
  /// Every entry that must be there, and no other; nil when no index is known.
  package let entries: [IndexedFile]?

  /// Creates a promise; a nil content is the product's own.
  package init(
    productIdentifier: ProductIdentifier, contentIdentifier: ProductIdentifier? = nil,
    version: ContentVersion, entries: [IndexedFile]?
  ) {
    self.productIdentifier = productIdentifier
    self.contentIdentifier = contentIdentifier ?? productIdentifier
    self.version = version
    self.entries = entries
  }

  /// Throws `wrongProduct` or `wrongVersion` when ContentInfo.plist says anything else.
  func check(_ info: ContentInfo, in name: String) throws {
    if info.productIdentifier != productIdentifier {
      throw ContentError(
        .wrongProduct,
        "\(name) is content of \(info.productIdentifier), not of \(productIdentifier)",
        remedy: "Publish the right package for the product", subject: name)
    }
    if info.contentIdentifier != contentIdentifier {
      throw ContentError(
        .wrongProduct,
        "\(name) is the content \(info.contentIdentifier) of \(info.productIdentifier), not its "
          + "content \(contentIdentifier)",
        remedy: "Publish the right package for the content", subject: name)
    }
    if info.version != version {
      throw ContentError(
        .wrongVersion, "\(name) is version \(info.version), not \(version)",
        remedy: "Publish the package under its own version", subject: name)
    }
  }
}
