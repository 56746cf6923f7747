import FoundationEssentials

/// What a store's `product.json` says of a product: everything but its content.
///
/// Written by the publisher, signed as a target, and read by whoever asks for the product.
public struct ProductRecord: Hashable, Codable, Sendable {
  /// The name by which the product is asked for and paid.
  public let productIdentifier: ProductIdentifier
  /// What kind of purchase it is.
  public let type: ProductType
  /// Title, description and release notes by language (BCP 47), at least one.
  public let texts: [String: ProductText]
  /// The price in units of `currency`, as decimal text such as "2.99"; nil means free.
  public let price: String?
  /// ISO 4217; nil when the product is free.
  public let currency: String?

  /// Creates a record.
  public init(
    productIdentifier: ProductIdentifier, type: ProductType, texts: [String: ProductText],
    price: String?, currency: String?
  ) {
    self.productIdentifier = productIdentifier
    self.type = type
    self.texts = texts
    self.price = price
    self.currency = currency
  }

  /// Reads the JSON of `product`; `storeDamaged` when it is not well-formed or is another one's.
  public init(json: [UInt8], of product: ProductIdentifier) throws {
    do {
      self = try JSONDecoder().decode(ProductRecord.self, from: Data(json))
    } catch {
      throw Self.damaged(product, "it cannot be read", cause: "\(error)")
    }
    guard productIdentifier == product else {
      throw Self.damaged(product, "it is the one of \(productIdentifier)")
    }
    guard !texts.isEmpty else { throw Self.damaged(product, "it has no title") }
  }

  /// JSON with sorted keys, the same for the same record.
  public var json: [UInt8] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return Array(try encoder.encode(self))
    }
  }

  private static func damaged(
    _ product: ProductIdentifier, _ reason: String, cause: String? = nil
  ) -> ContentError {
    ContentError(
      .storeDamaged, "The record of \(product) in the store is damaged: \(reason)",
      remedy: "The store's owner publishes the product again", subject: product.rawValue,
      cause: cause)
  }
}
