/// A product of a store without its contents.
///
/// The publisher signs it; clients read it with the catalog.
public struct ProductRecord: Hashable, Sendable, CustomStringConvertible, Codable {
  /// The identifier, which payments use.
  public let productIdentifier: ProductIdentifier
  /// The kind of purchase.
  public let type: ProductType
  /// Title, description and release notes by language (BCP 47), at least one.
  public let texts: [String: ProductText]
  /// The price for display; nil if the product is free.
  public let price: Price?

  package init(
    productIdentifier: ProductIdentifier, type: ProductType, texts: [String: ProductText],
    price: Price?
  ) {
    self.productIdentifier = productIdentifier
    self.type = type
    self.texts = texts
    self.price = price
  }

  /// Throws `storeDamaged` if this is the record of another product, or has no title.
  package func check(isOf product: ProductIdentifier) throws {
    guard productIdentifier == product else {
      throw ContentError.recordDamaged(product, "it is for \(productIdentifier)")
    }
    guard !texts.isEmpty else { throw ContentError.recordDamaged(product, "it has no title") }
  }

  /// The identifier, type, title and price.
  public var description: String {
    let title = (texts["en"] ?? texts.min { $0.key < $1.key }?.value).map { " “\($0)”" } ?? ""
    return "\(productIdentifier) (\(type))\(title), \(price.map { "\($0)" } ?? "free")"
  }

  /// In JSON the price is a text beside the currency; both are missing if the product is free.
  private enum CodingKeys: CodingKey { case productIdentifier, type, texts, price, currency }

  /// Decodes the JSON of a store's catalog.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      productIdentifier: try container.decode(ProductIdentifier.self, forKey: .productIdentifier),
      type: try container.decode(ProductType.self, forKey: .type),
      texts: try container.decode([String: ProductText].self, forKey: .texts),
      price: try Self.price(in: container))
  }

  private static func price(in container: KeyedDecodingContainer<CodingKeys>) throws -> Price? {
    guard let text = try container.decodeIfPresent(String.self, forKey: .price) else { return nil }
    let currency = try container.decode(String.self, forKey: .currency)
    guard let price = Price(text: text, currency: currency) else {
      throw DecodingError.dataCorruptedError(
        forKey: .price, in: container, debugDescription: "Not a price")
    }
    return price
  }

  /// Encodes the JSON of a store's catalog.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(productIdentifier, forKey: .productIdentifier)
    try container.encode(type, forKey: .type)
    try container.encode(texts, forKey: .texts)
    try container.encodeIfPresent(price?.text, forKey: .price)
    try container.encodeIfPresent(price?.currency, forKey: .currency)
  }
}

extension ContentError {
  /// The record of `product` in a store is damaged; `reason` is a clause.
  package static func recordDamaged(
    _ product: ProductIdentifier, _ reason: String, cause: String? = nil
  ) -> ContentError {
    ContentError(
      .storeDamaged, "The record of \(product) in the store is damaged: \(reason)",
      remedy: "Ask the store's owner to publish the product again", subject: product.rawValue,
      cause: cause)
  }
}
