public import ContentModel
import ContentTrust
public import FoundationEssentials

extension StoreFolder {
  /// Withdraws a version that was published by mistake, such as 9.9 instead of 1.9.
  ///
  /// Nil is the product's own content. Like a retired version, it is not offered anymore, and its
  /// files stay. Unlike one, it does not count as the highest version, so lower versions can
  /// follow. Clients that have installed it replace it with the newest offered version, even if
  /// that is lower. The signed record lists it forever, and its number cannot be used again.
  ///
  /// A retired version can be withdrawn too. Then the other retired versions still count. Throws
  /// `productUnknown` if the version is neither offered nor retired.
  public func withdraw(
    _ product: ProductIdentifier, version: ContentVersion, content: ProductIdentifier? = nil,
    now: Date = Date()
  ) throws {
    let content = content ?? product
    try changing(now) { draft, _ in
      guard var record = try draft.record(of: product), record.withdraw(content, version) else {
        throw ContentError.versionUnknown(version, of: content, product)
      }
      draft.set(record)
    }
  }
}

extension ContentError {
  /// The store neither offers nor has retired `version` of a content of `product`.
  static func versionUnknown(
    _ version: ContentVersion, of content: ProductIdentifier, _ product: ProductIdentifier
  ) -> ContentError {
    ContentError(
      .productUnknown, "The store has no version \(version) of \(content)",
      remedy: "Check the identifier and version, or list the versions of the store",
      subject: product.rawValue)
  }
}
