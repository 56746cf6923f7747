public import ContentModel

/// Something that happened on the seller's side without being asked for.
public enum StoreEvent: Hashable, Sendable {
  /// A purchase that was deferred, or still unanswered, was decided; checked as any answer is.
  case answered(transaction: String, PurchaseOutcome)
  /// A purchase that no payment waits for: an interrupted one that was mended, one made elsewhere.
  ///
  /// Its number may be one that was delivered before.
  case granted(Grant, contents: [ContentOffer])
  /// The account lost these products. Nothing is removed by itself; observers are told.
  case revoked([ProductIdentifier])
  /// The account's storefront is another one now.
  case storefrontChanged(Storefront)
  /// The user chose to buy a product outside the service; observers decide whether it is added.
  case promoted(Payment)
  /// Content may have changed: the place for a push.
  case contentPublished
}

/// Where an account buys.
///
/// Source: `SKStorefront`.
public struct Storefront: Hashable, Codable, Sendable {
  /// ISO 3166-1 alpha-3.
  public let countryCode: String
  /// The seller's own name for it.
  public let identifier: String

  /// Creates a storefront.
  public init(countryCode: String, identifier: String) {
    self.countryCode = countryCode
    self.identifier = identifier
  }
}

/// A purchase of an account's history, with the content that belongs to it now.
public struct RestoredPurchase: Hashable, Sendable {
  /// The purchase as it was granted.
  public let original: Grant
  /// The newest content packages; of each, identifier and version count if there is a catalog.
  public let contents: [ContentOffer]

  /// Creates a restored purchase.
  public init(original: Grant, contents: [ContentOffer]) {
    self.original = original
    self.contents = contents
  }
}
