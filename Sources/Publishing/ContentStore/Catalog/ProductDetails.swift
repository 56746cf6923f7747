public import HostedModel
public import FoundationEssentials

/// The description of a product.
///
/// Values that are nil keep the store's current value.
public struct ProductDetails: Hashable, Sendable {
  /// A short name in `language`, not empty and without control characters.
  ///
  /// The default title of a new product is its identifier.
  public var title: String?
  /// One or more sentences in `language`.
  public var description: String?
  /// What is new in the current version, in `language`.
  public var releaseNotes: String?
  /// The language of the texts, as a BCP 47 tag.
  public var language: String
  /// The amount of the price, such as 2.99; less than 100 billion.
  ///
  /// The product is free for 0.
  public var price: Decimal?
  /// The currency (ISO 4217), three capital letters.
  ///
  /// The default for a product without a price is USD.
  public var currency: String?
  /// The kind of purchase.
  ///
  /// A new product is non-consumable by default.
  public var type: ProductType?

  /// Creates details.
  ///
  /// Values that are nil keep the store's current value.
  public init(
    title: String? = nil, description: String? = nil, releaseNotes: String? = nil,
    language: String = "en", price: Decimal? = nil, currency: String? = nil,
    type: ProductType? = nil
  ) {
    self.title = title
    self.description = description
    self.releaseNotes = releaseNotes
    self.language = language
    self.price = price
    self.currency = currency
    self.type = type
  }

  private static let maximumPrice: Decimal = 100_000_000_000

  /// Throws `usage` for an invalid price, currency, language or title.
  func check() throws {
    if let price, !(price >= 0 && price < Self.maximumPrice) {
      throw ContentError.notAPrice("\(price)")
    }
    let isUpperCase = { (byte: UInt8) in (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
    if let currency, currency.utf8.count != 3 || !currency.utf8.allSatisfy(isUpperCase) {
      throw ContentError(
        .usage, "“\(currency.prefix(40))” is not a currency",
        remedy: "Use three capital letters (ISO 4217), such as EUR")
    }
    if let title { try Self.check(title) }
    guard Self.isLanguageTag(language) else {
      throw ContentError(
        .usage, "“\(language.prefix(40))” is not a language tag",
        remedy: "Use a BCP 47 tag, such as en or pt-BR")
    }
  }

  private static func check(_ title: String) throws {
    let scalars = title.unicodeScalars
    guard scalars.contains(where: { !$0.properties.isWhitespace }) else {
      throw ContentError(
        .usage, "The title is empty",
        remedy: "Use a short name. Omit the title to keep the current one")
    }
    guard !scalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw ContentError(
        .usage, "The title “\(title.printable(limit: 40))” contains a control character",
        remedy: "Use a title of one line, without tabs and control characters")
    }
  }

  /// Whether `text` has the form of a BCP 47 tag: a language of two or three letters, and subtags.
  private static func isLanguageTag(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard text.utf8.count <= 35, let language = parts.first, (2...3).contains(language.utf8.count)
    else { return false }
    return language.utf8.allSatisfy(\.isLetter)
      && parts.dropFirst().allSatisfy { part in
        (1...8).contains(part.utf8.count) && part.utf8.allSatisfy(\.isLetterOrDigit)
      }
      // An extension or private use has a subtag after its letter.
      && parts.last?.utf8.count != 1
  }

  /// Returns the record of `product`: these details, with missing values from `record`.
  func record(of product: ProductIdentifier, over record: ProductRecord?) -> ProductRecord {
    // An amount that is rounded to 0 is free too.
    let rounded = Price(
      price ?? record?.price?.amount ?? 0, currency: currency ?? record?.price?.currency ?? "USD")
    return ProductRecord(
      productIdentifier: product, type: type ?? record?.type ?? .nonConsumable,
      texts: texts(of: product, over: record?.texts ?? [:]),
      price: rounded.amount == 0 ? nil : rounded)
  }

  private func texts(of product: ProductIdentifier, over texts: [String: ProductText])
    -> [String: ProductText]
  {
    let hasNoText = title == nil && description == nil && releaseNotes == nil
    guard !hasNoText || texts.isEmpty else { return texts }
    let known = texts[language]
    let text = ProductText(
      title: title ?? known?.title ?? product.rawValue,
      description: description ?? known?.description ?? "",
      releaseNotes: releaseNotes ?? known?.releaseNotes)
    return texts.merging([language: text]) { $1 }
  }
}

extension ContentError {
  /// The error for a price that is not a number from 0 to 100 billion.
  package static func notAPrice(_ text: String) -> ContentError {
    ContentError(
      .usage, "“\(text.prefix(40))” is not a price",
      remedy: "Use digits, with a period before the cents, such as 2.99")
  }
}
