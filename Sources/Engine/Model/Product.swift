/// A product of a store, with its texts, price and contents.
///
/// Source: `SKProduct`.
public struct Product: Hashable, Sendable, CustomStringConvertible, Codable {
  /// The identifier, which payments use.
  public let productIdentifier: ProductIdentifier
  /// The kind of purchase.
  public let type: ProductType
  /// Title, description and release notes by language (BCP 47), at least one.
  public let texts: [String: ProductText]
  /// The price for display; nil if the product is free.
  public let price: Price?
  /// The newest version of each content package; empty for a product without content.
  ///
  /// Each is one download. In the catalog of a store, they are sorted by content identifier, the
  /// product's own content first.
  public let contents: [ContentOffer]
  /// The withdrawn versions of each content, or empty.
  ///
  /// They were published by mistake. If one is installed, it counts as older than every offered
  /// version.
  public let withdrawnVersions: [ProductIdentifier: [ContentVersion]]

  /// Creates a product.
  ///
  /// Each of its contents gets the withdrawn versions of its identifier.
  public init(
    productIdentifier: ProductIdentifier, type: ProductType, texts: [String: ProductText],
    price: Price?, contents: [ContentOffer],
    withdrawnVersions: [ProductIdentifier: [ContentVersion]] = [:]
  ) {
    self.productIdentifier = productIdentifier
    self.type = type
    self.texts = texts
    self.price = price
    self.contents = contents.map { offer in
      withdrawnVersions[offer.contentIdentifier].map(offer.withdrawing) ?? offer
    }
    self.withdrawnVersions = withdrawnVersions
  }

  package func isWithdrawn(_ version: ContentVersion, of content: ProductIdentifier) -> Bool {
    withdrawnVersions[content]?.contains(version) == true
  }

  /// Returns the title in `language`, or else in English, or in any language.
  ///
  /// Returns the identifier if the product has no texts.
  public func localizedTitle(in language: String = "en") -> String {
    text(in: language)?.title ?? productIdentifier.rawValue
  }

  /// Returns the description in `language`, or else in English, or in any language.
  public func localizedDescription(in language: String = "en") -> String {
    text(in: language)?.description ?? ""
  }

  private func text(in language: String) -> ProductText? {
    texts[language] ?? texts["en"] ?? texts.min { $0.key < $1.key }?.value
  }

  /// Whether the product has content to download.
  public var isDownloadable: Bool { !contents.isEmpty }

  /// The size of each download in bytes, in the order of `contents`.
  public var downloadContentLengths: [Int64] { contents.map(\.package.length) }

  /// The version of the first content; nil without content.
  ///
  /// Each content has its own version: see `contents`.
  public var downloadContentVersion: ContentVersion? { contents.first?.version }

  /// The identifier, type, title, price and contents.
  public var description: String {
    let record = ProductRecord(
      productIdentifier: productIdentifier, type: type, texts: texts, price: price)
    return "\(record), contents: \(contents)"
  }

  /// Creates the product that `record` describes, with the newest version of each content.
  package init(
    _ record: ProductRecord, contents: [ContentOffer],
    withdrawnVersions: [ProductIdentifier: [ContentVersion]] = [:]
  ) {
    self.init(
      productIdentifier: record.productIdentifier, type: record.type, texts: record.texts,
      price: record.price, contents: contents, withdrawnVersions: withdrawnVersions)
  }

  private enum CodingKeys: CodingKey { case contents, withdrawnVersions }

  /// Decodes the JSON of a store's catalog.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try ProductRecord(from: decoder),
      contents: try container.decode([ContentOffer].self, forKey: .contents),
      withdrawnVersions: try container.decodeVersions(forKey: .withdrawnVersions))
  }

  /// Encodes the JSON of a store's catalog.
  public func encode(to encoder: any Encoder) throws {
    let record = ProductRecord(
      productIdentifier: productIdentifier, type: type, texts: texts, price: price)
    try record.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(contents, forKey: .contents)
    try container.encodeVersions(withdrawnVersions, forKey: .withdrawnVersions)
  }
}

/// The kind of a purchase; only non-consumables have hosted content.
///
/// Non-consumables and auto-renewable subscriptions can be restored.
public enum ProductType: String, Codable, Sendable, CaseIterable, PrintedAsRawValue {
  case nonConsumable = "non-consumable"
  case consumable
  case autoRenewable = "auto-renewable"
  case nonRenewing = "non-renewing"
}

/// A product's texts in one language.
public struct ProductText: Hashable, Codable, Sendable, CustomDebugStringConvertible {
  /// The title, a short name.
  public let title: String
  /// The description; may be empty.
  public let description: String
  /// The release notes of the current version, if any.
  public let releaseNotes: String?

  /// Creates texts.
  public init(title: String, description: String = "", releaseNotes: String? = nil) {
    self.title = title
    self.description = description
    self.releaseNotes = releaseNotes
  }

  /// The title; `description` is the text about the product.
  public var debugDescription: String { title.printable() }
}
