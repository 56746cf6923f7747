public import HostedModel
import HostedTrust
public import FoundationEssentials

/// Retiring and withdrawing versions.
extension StoreFolder {
  /// Removes a version of a content from the catalog.
  ///
  /// Nil is the product's own content. Its files stay, so that running downloads can finish. Its
  /// number cannot be used again: the next version must be higher. If the number is a mistake, use
  /// `withdraw` instead. Throws `productUnknown` if the version does not exist.
  public func retire(
    _ product: ProductIdentifier, version: ContentVersion, content: ProductIdentifier? = nil,
    now: Date = Date()
  ) throws {
    try change(product, content ?? product, version, now) { record, content in
      // In the published spelling: 1.0 equals 1, but has another folder.
      guard let offer = record.offer(content, version) else { return false }
      record.retire(offer)
      return true
    }
  }

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
    try change(product, content ?? product, version, now) { $0.withdraw($1, version) }
  }

  /// Changes the record of `product`; throws `productUnknown` if `change` returns false, because
  /// the record does not have the version.
  private func change(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion,
    _ now: Date, _ change: (inout CatalogRecord, ProductIdentifier) -> Bool
  ) throws {
    try changing(now) { draft, _ in
      guard var record = try draft.record(of: product), change(&record, content) else {
        throw ContentError(
          .productUnknown, "The store has no version \(version) of \(content)",
          remedy: "Check the identifier and version, or list the versions of the store",
          subject: product.rawValue)
      }
      draft.set(record)
    }
  }
}
