package import ContentModel
import FoundationEssentials

/// The `product.json` of a store: a product, its offered versions, and what was retired.
///
/// The publisher signs it; archives and indexes are authenticated by it.
package struct CatalogRecord: Hashable, Sendable {
  /// Texts, type and price.
  package var description: ProductRecord
  /// Every offered version of every content package.
  ///
  /// The product's own content is first, then by content identifier; the newest version of each is
  /// first.
  package private(set) var offers: [ContentOffer]
  /// The highest retired version of each content.
  ///
  /// Its number cannot be used again, because the version may be installed.
  package private(set) var retired: [ProductIdentifier: ContentVersion]

  /// The maximum length, in bytes.
  package static let maximumLength: Int64 = 1 << 20

  /// Creates the record of a product without content.
  package init(_ description: ProductRecord) {
    (self.description, offers, retired) = (description, [], [:])
  }

  /// The product.
  package var product: ProductIdentifier { description.productIdentifier }

  /// The newest version of each content package: the product's own first, then by identifier.
  package var newestOffers: [ContentOffer] {
    var seen: Set<ProductIdentifier> = []
    return offers.filter { seen.insert($0.contentIdentifier).inserted }
  }

  /// The contents with other identifiers than the product.
  package var otherContents: Set<ProductIdentifier> {
    Set(offers.map(\.contentIdentifier)).subtracting([product])
  }

  /// The contents with other identifiers than the product, even if all their versions are retired.
  package var ownedContents: Set<ProductIdentifier> {
    otherContents.union(retired.keys).subtracting([product])
  }

  /// The offered version of `content`; nil if it is not offered.
  package func offer(_ content: ProductIdentifier, _ version: ContentVersion) -> ContentOffer? {
    offers.first { $0.contentIdentifier == content && $0.version == version }
  }

  /// Adds a version, or replaces it.
  package mutating func add(_ offer: ContentOffer) {
    remove(offer)
    offers.append(offer)
    offers.sort(by: Self.isOrdered)
  }

  /// Removes a version, whose number cannot be used again.
  package mutating func retire(_ offer: ContentOffer) {
    remove(offer)
    let earlier = retired[offer.contentIdentifier]
    retired[offer.contentIdentifier] = max(earlier ?? offer.version, offer.version)
  }

  private mutating func remove(_ offer: ContentOffer) {
    offers.removeAll {
      $0.contentIdentifier == offer.contentIdentifier && $0.version == offer.version
    }
  }

  private static func isOrdered(_ left: ContentOffer, _ right: ContentOffer) -> Bool {
    guard left.contentIdentifier != right.contentIdentifier else {
      return left.version > right.version
    }
    if left.contentIdentifier == left.productIdentifier { return true }
    if right.contentIdentifier == right.productIdentifier { return false }
    return left.contentIdentifier < right.contentIdentifier
  }
}

// MARK: JSON

extension CatalogRecord {
  /// Decodes the JSON of `product`; `signers` is for `ContentOffer.signers`.
  ///
  /// Throws `storeDamaged` if it is invalid or of another product, names a version twice, or has
  /// a path outside the product's folder.
  package init(json bytes: [UInt8], of product: ProductIdentifier, signers: Digest? = nil) throws {
    let form: Form
    do {
      form = try JSONDecoder().decode(Form.self, from: Data(bytes))
    } catch {
      throw ContentError.recordDamaged(product, "it cannot be read", cause: "\(error)")
    }
    try form.description.check(isOf: product)
    var (offers, seen): ([ContentOffer], Set<Form.Version>) = ([], [])
    for offer in form.offers {
      let content = offer.contentIdentifier ?? product
      guard seen.insert(Form.Version(content: content, version: offer.contentVersion)).inserted
      else {
        throw ContentError.recordDamaged(
          product, "it names version \(offer.contentVersion) of \(content) twice")
      }
      guard content == product || !StorePath.isFileName(content) else {
        throw ContentError.recordDamaged(product, "the content \(content) has a reserved name")
      }
      for file in [offer.package, offer.index]
      where file.length < 0 || !StorePath.isFile(file.path, of: product) {
        throw ContentError.recordDamaged(
          product, "the path \(file.path.printable(limit: 100)) is not in the product's folder")
      }
      guard offer.installedSize >= 0 else {
        throw ContentError.recordDamaged(product, "an installed size is negative")
      }
      offers.append(
        ContentOffer(
          productIdentifier: product, contentIdentifier: content, version: offer.contentVersion,
          installedSize: offer.installedSize, package: offer.package.signed,
          index: offer.index.signed, signers: signers))
    }
    description = form.description
    self.offers = offers.sorted(by: Self.isOrdered)
    retired = form.retired
  }

  /// JSON with sorted keys, in one line; equal records have equal JSON.
  package var json: [UInt8] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return Array(
        try encoder.encode(
          Form(
            description: description,
            offers: offers.map { Form.Offer($0, of: product) }, retired: retired)))
    }
  }

  /// The form of the JSON.
  private struct Form: Codable {
    struct Version: Hashable {
      let content: ProductIdentifier
      let version: ContentVersion
    }

    struct Offer: Codable {
      /// Nil for the product's own content.
      let contentIdentifier: ProductIdentifier?
      let contentVersion: ContentVersion
      let installedSize: Int64
      let package: File
      let index: File

      init(_ offer: ContentOffer, of product: ProductIdentifier) {
        contentIdentifier = offer.contentIdentifier == product ? nil : offer.contentIdentifier
        contentVersion = offer.version
        installedSize = offer.installedSize
        package = File(offer.package)
        index = File(offer.index)
      }
    }

    struct File: Codable {
      let path: String
      let length: Int64
      let sha256: Digest

      init(_ file: SignedFile) { (path, length, sha256) = (file.path, file.length, file.digest) }

      var signed: SignedFile { SignedFile(path: path, length: length, digest: sha256) }
    }

    let description: ProductRecord
    let offers: [Offer]
    let retired: [ProductIdentifier: ContentVersion]

    private enum CodingKeys: CodingKey { case contents, retiredVersions }

    init(
      description: ProductRecord, offers: [Offer], retired: [ProductIdentifier: ContentVersion]
    ) {
      (self.description, self.offers, self.retired) = (description, offers, retired)
    }

    init(from decoder: any Decoder) throws {
      description = try ProductRecord(from: decoder)
      let container = try decoder.container(keyedBy: CodingKeys.self)
      offers = try container.decodeIfPresent([Offer].self, forKey: .contents) ?? []
      let versions = try container.decodeIfPresent(
        [String: ContentVersion].self, forKey: .retiredVersions)
      retired = try (versions ?? [:]).reduce(into: [:]) {
        $0[try ProductIdentifier(validating: $1.key)] = $1.value
      }
    }

    func encode(to encoder: any Encoder) throws {
      try description.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      if !offers.isEmpty { try container.encode(offers, forKey: .contents) }
      guard !retired.isEmpty else { return }
      let versions = retired.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value }
      try container.encode(versions, forKey: .retiredVersions)
    }
  }
}
