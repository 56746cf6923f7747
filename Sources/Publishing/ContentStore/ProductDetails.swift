public import ContentModel
import ContentTrust

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
  /// The price as decimal text such as "2.99"; "0" makes the product free.
  public var price: String?
  /// ISO 4217; USD when a price is given to a product that had none.
  public var currency: String?
  /// The kind of purchase; a new product is non-consumable.
  public var type: ProductType?

  /// Creates details; everything that is nil keeps what the store says already.
  public init(
    title: String? = nil, description: String? = nil, releaseNotes: String? = nil,
    language: String = "en", price: String? = nil, currency: String? = nil,
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

  /// Throws `usage` for an invalid price, currency, language or title.
  func check() throws {
    if let price, !Self.isDecimal(price) {
      throw ContentError(
        .usage, "“\(price.prefix(40))” is not a price",
        remedy: "Give digits, with a period before cents, such as 2.99")
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

  private static func isDecimal(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return text.utf8.count <= 20 && (1...2).contains(parts.count)
      && parts.allSatisfy { part in
        !part.isEmpty
          && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      }
  }

  /// The record of `product` with these details over what `record` says already.
  func record(of product: ProductIdentifier, over record: ProductRecord?) -> ProductRecord {
    let price = isFree ? nil : price ?? record?.price
    return ProductRecord(
      productIdentifier: product, type: type ?? record?.type ?? .nonConsumable,
      texts: texts(of: product, over: record?.texts ?? [:]), price: price,
      currency: price == nil ? nil : currency ?? record?.currency ?? "USD")
  }

  private var isFree: Bool { price?.utf8.allSatisfy { ".0".utf8.contains($0) } ?? false }

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
