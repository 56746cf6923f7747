public import ContentModel
import ContentTrust
public import FoundationEssentials

/// What a publisher says of a product; nil keeps what the store says already.
public struct ProductDetails: Hashable, Sendable {
  /// A short name in `language`; a new product's title is its identifier.
  public var title: String?
  /// One or more sentences in `language`.
  public var description: String?
  /// What is new in the current version, in `language`.
  public var releaseNotes: String?
  /// The language of the words, BCP 47.
  public var language: String
  /// The amount of the price, such as 2.99; 0 makes the product free.
  public var price: Decimal?
  /// ISO 4217; USD when a price is given to a product that had none.
  public var currency: String?
  /// The kind of purchase; a new product is non-consumable.
  public var type: ProductType?

  /// Creates details; everything that is nil keeps what the store says already.
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
        remedy: "Give three capital letters (ISO 4217), such as EUR")
    }
    try checkTitle()
    guard Self.isLanguageTag(language) else {
      throw ContentError(
        .usage, "“\(language.prefix(40))” is not a language tag",
        remedy: "Give a BCP 47 tag, such as en or pt-BR")
    }
  }

  private func checkTitle() throws {
    guard let title else { return }
    let scalars = title.unicodeScalars
    guard scalars.contains(where: { !$0.properties.isWhitespace }) else {
      throw ContentError(
        .usage, "The title is empty",
        remedy: "Give a short name; without a title, the product keeps the one that it has")
    }
    guard !scalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw ContentError(
        .usage, "The title “\(title.printable(limit: 40))” contains a control character",
        remedy: "Give a title of one line, without tabs and control characters")
    }
  }

  /// Whether `text` has the form of a BCP 47 tag: a language of two or three letters, and subtags.
  private static func isLanguageTag(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard text.utf8.count <= 35, let language = parts.first, (2...3).contains(language.utf8.count)
    else { return false }
    let isLetter = { (byte: UInt8) in (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    return language.utf8.allSatisfy(isLetter)
      && parts.dropFirst().allSatisfy { part in
        (1...8).contains(part.utf8.count) && part.utf8.allSatisfy { isLetter($0) || isDigit($0) }
      }
      // An extension or private use has a subtag behind its letter.
      && parts.last?.utf8.count != 1
  }

  /// The record of `product` with these details over what `record` says already.
  func record(of product: ProductIdentifier, over record: ProductRecord?) -> ProductRecord {
    let amount = price ?? record?.price?.amount ?? 0
    let currency = currency ?? record?.price?.currency ?? "USD"
    return ProductRecord(
      productIdentifier: product, type: type ?? record?.type ?? .nonConsumable,
      texts: texts(of: product, over: record?.texts ?? [:]),
      price: amount == 0 ? nil : Price(amount, currency: currency))
  }

  private func texts(of product: ProductIdentifier, over texts: [String: ProductText])
    -> [String: ProductText]
  {
    let saysNothing = title == nil && description == nil && releaseNotes == nil
    guard !saysNothing || texts.isEmpty else { return texts }
    let known = texts[language]
    let text = ProductText(
      title: title ?? known?.title ?? product.rawValue,
      description: description ?? known?.description ?? "",
      releaseNotes: releaseNotes ?? known?.releaseNotes)
    return texts.merging([language: text]) { $1 }
  }
}

/// A product of a store folder, as its publisher sees it.
public struct StoredProduct: Hashable, Codable, Sendable {
  /// Texts, type and price.
  public let record: ProductRecord
  /// Whether the record's file was lost or damaged: then `record` says nothing but the identifier,
  /// and the next publication of the product starts a new one.
  public let isRecordLost: Bool
  /// Every version of its contents: its own first, then by content identifier, the newest of each
  /// first; empty for a product without content.
  public let versions: [StoredVersion]
}

/// A published version of a content package.
public struct StoredVersion: Hashable, Codable, Sendable {
  /// The product that it belongs to.
  public let productIdentifier: ProductIdentifier
  /// The content's own name, which is the product's unless a product has several.
  public let contentIdentifier: ProductIdentifier
  /// Its version.
  public let version: ContentVersion
  /// Bytes of the archive.
  public let length: Int64
  /// Bytes of all files once installed.
  public let installedSize: Int64
  /// SHA-256 of the archive.
  public let digest: Digest

  init(_ offer: ContentOffer) {
    productIdentifier = offer.productIdentifier
    contentIdentifier = offer.contentIdentifier
    version = offer.version
    length = offer.package.length
    installedSize = offer.installedSize
    digest = offer.package.digest
  }

  init(_ package: IncomingPackage) {
    productIdentifier = package.custom.productIdentifier
    contentIdentifier = package.custom.contentIdentifier
    version = package.custom.version
    length = package.length
    installedSize = package.custom.installedSize
    digest = package.digest
  }
}

extension ContentError {
  /// The error for a price that is not a number from 0 to 100 billion.
  package static func notAPrice(_ text: String) -> ContentError {
    ContentError(
      .usage, "“\(text.prefix(40))” is not a price",
      remedy: "Give digits, with a period before cents, such as 2.99")
  }
}
