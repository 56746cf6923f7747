package import ContentModel

/// The package that the signed catalog describes.
///
/// Unpacking any other package fails.
package struct UnpackPromise: Sendable {
  /// The product that ContentInfo.plist must name.
  package let productIdentifier: ProductIdentifier
  /// The content that ContentInfo.plist must name, or imply by naming only the product.
  package let contentIdentifier: ProductIdentifier
  /// The version that ContentInfo.plist must name.
  package let version: ContentVersion
  /// The exact entries of the package, or nil without an index.
  package let entries: [IndexedFile]?

  /// Creates a promise; a nil `contentIdentifier` means the product's own content.
  package init(
    productIdentifier: ProductIdentifier, contentIdentifier: ProductIdentifier? = nil,
    version: ContentVersion, entries: [IndexedFile]?
  ) {
    self.productIdentifier = productIdentifier
    self.contentIdentifier = contentIdentifier ?? productIdentifier
    self.version = version
    self.entries = entries
  }

  /// Throws `wrongProduct` or `wrongVersion` if ContentInfo.plist has other values.
  func check(_ info: ContentInfo, in name: String) throws {
    if info.productIdentifier != productIdentifier {
      throw ContentError(
        .wrongProduct,
        "\(name) contains product \(info.productIdentifier), expected \(productIdentifier)",
        remedy: "Publish the correct package for the product", subject: name)
    }
    if info.contentIdentifier != contentIdentifier {
      throw ContentError(
        .wrongProduct,
        "\(name) contains content \(info.contentIdentifier) of \(info.productIdentifier), "
          + "expected \(contentIdentifier)",
        remedy: "Publish the correct package for the content", subject: name)
    }
    if info.version != version {
      throw ContentError(
        .wrongVersion, "\(name) contains version \(info.version), expected \(version)",
        remedy: "Publish the package with the version that it contains", subject: name)
    }
  }
}

extension ContentError {
  /// Returns the error for a file that does not match the signed index of the package `name`.
  static func differs(
    _ path: String, _ verb: String = "does not match", in name: String
  ) -> ContentError {
    ContentError(
      .indexMismatch, "\(name): “\(path)” \(verb) the signed index",
      remedy: "Fetch the package again. If the error persists, publish the package again",
      subject: name)
  }
}
