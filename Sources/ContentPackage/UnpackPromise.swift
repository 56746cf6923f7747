package import ContentModel

/// What the signed catalogue said a package is; unpacking anything else is refused.
package struct UnpackPromise: Sendable {
  /// The product that ContentInfo.plist must name.
  package let productIdentifier: ProductIdentifier
  /// The version that ContentInfo.plist must name.
  package let version: ContentVersion
  /// Every entry that must be there, and no other; nil when no index is known.
  package let entries: [IndexedFile]?

  /// Creates a promise.
  package init(
    productIdentifier: ProductIdentifier, version: ContentVersion, entries: [IndexedFile]?
  ) {
    self.productIdentifier = productIdentifier
    self.version = version
    self.entries = entries
  }
}
