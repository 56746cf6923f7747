package import HostedModel
import FoundationEssentials

/// The `product.json` of a store: a product, its offered versions, and what was retired or
/// withdrawn.
///
/// The publisher signs it; archives and indexes are authenticated by it.
package struct CatalogRecord: Hashable, Sendable {
  /// Texts, type and price.
  package var description: ProductRecord
  /// Every offered version, as it was published.
  private var listed: [ContentOffer]
  /// The retired versions of each content, highest first.
  ///
  /// New versions must be higher, because these may be installed. All are kept: after the highest
  /// one is withdrawn, the next one counts.
  package private(set) var retiredVersions: [ProductIdentifier: [ContentVersion]]
  /// The withdrawn versions of each content, lowest first.
  ///
  /// They do not count as the highest version, but their numbers cannot be used again.
  package private(set) var withdrawnVersions: [ProductIdentifier: [ContentVersion]]

  /// The maximum length, in bytes.
  package static let maximumLength: Int64 = 1 << 20

  /// Creates the record of a product without content.
  package init(_ description: ProductRecord) {
    self.description = description
    (listed, retiredVersions, withdrawnVersions) = ([], [:], [:])
  }

  package var product: ProductIdentifier { description.productIdentifier }

  /// Every offered version of every content package, with the withdrawn versions of its content.
  ///
  /// The product's own content is first, then by content identifier; the newest version of each is
  /// first.
  package var offers: [ContentOffer] {
    guard !withdrawnVersions.isEmpty else { return listed }
    return listed.map { $0.withdrawing(withdrawnVersions[$0.contentIdentifier] ?? []) }
  }

  /// The newest version of each content package: the product's own first, then by identifier.
  package var newestOffers: [ContentOffer] {
    var seen: Set<ProductIdentifier> = []
    return offers.filter { seen.insert($0.contentIdentifier).inserted }
  }

  /// The contents with other identifiers than the product.
  var otherContents: Set<ProductIdentifier> {
    Set(listed.map(\.contentIdentifier)).subtracting([product])
  }

  /// The contents with other identifiers than the product, even if all their versions are retired
  /// or withdrawn.
  package var ownedContents: Set<ProductIdentifier> {
    otherContents.union(retiredVersions.keys).union(withdrawnVersions.keys).subtracting([product])
  }

  /// The offered version of `content`; nil if it is not offered.
  package func offer(_ content: ProductIdentifier, _ version: ContentVersion) -> ContentOffer? {
    offers.first { $0.contentIdentifier == content && $0.version == version }
  }

  /// Adds a version, or replaces it.
  package mutating func add(_ offer: ContentOffer) {
    remove(offer.contentIdentifier, offer.version)
    listed.append(offer)
    listed.sort(by: Self.isOrdered)
  }

  /// Removes a version; only higher versions can follow.
  package mutating func retire(_ offer: ContentOffer) {
    remove(offer.contentIdentifier, offer.version)
    retiredVersions[offer.contentIdentifier, default: []].append(offer.version)
    retiredVersions[offer.contentIdentifier]?.sort(by: >)
  }

  /// Withdraws an offered or retired version; lower versions can follow, but not this one.
  ///
  /// Returns false, without a change, if `content` does not have this version.
  package mutating func withdraw(_ content: ProductIdentifier, _ version: ContentVersion) -> Bool {
    // In the published spelling: 1.0 equals 1.
    let offered = offer(content, version)?.version
    let known = offered ?? retiredVersions[content]?.first { $0 == version }
    guard let known else { return false }
    remove(content, known)
    withdrawnVersions[content, default: []].append(known)
    withdrawnVersions[content]?.sort()
    return true
  }

  /// Removes a version from the offered and retired ones.
  private mutating func remove(_ content: ProductIdentifier, _ version: ContentVersion) {
    listed.removeAll { $0.contentIdentifier == content && $0.version == version }
    retiredVersions[content]?.removeAll { $0 == version }
    if retiredVersions[content]?.isEmpty == true { retiredVersions[content] = nil }
  }

  /// The product's own content comes first, and of each content the newest version.
  private static func isOrdered(_ left: ContentOffer, _ right: ContentOffer) -> Bool {
    func rank(_ offer: ContentOffer) -> Int {
      offer.contentIdentifier == offer.productIdentifier ? 0 : 1
    }
    return (rank(left), left.contentIdentifier, right.version)
      < (rank(right), right.contentIdentifier, left.version)
  }
}

// MARK: JSON

extension CatalogRecord: Encodable {
  /// Decodes the JSON of `product`; `signers` is for `ContentOffer.signers`.
  ///
  /// Throws `storeDamaged` if it is invalid or of another product, names a version twice, offers a
  /// withdrawn version, or has a path outside the product's folder.
  package init(json bytes: [UInt8], of product: ProductIdentifier, signers: Digest? = nil) throws {
    let form: Form
    do {
      form = try JSONDecoder().decode(Form.self, from: Data(bytes))
    } catch {
      throw ContentError.recordDamaged(product, "it cannot be read", cause: "\(error)")
    }
    try form.description.check(isOf: product)
    let withdrawn = Set(
      form.withdrawn.flatMap { content, versions in
        versions.map { ContentKey(content, version: $0) }
      })
    var (listed, seen): ([ContentOffer], Set<ContentKey>) = ([], [])
    for offer in form.offers {
      let content = offer.contentIdentifier ?? product
      let key = ContentKey(content, version: offer.contentVersion)
      guard seen.insert(key).inserted else {
        throw ContentError.recordDamaged(
          product, "it names version \(offer.contentVersion) of \(content) twice")
      }
      // A client would replace such a version with itself again and again.
      guard !withdrawn.contains(key) else {
        throw ContentError.recordDamaged(
          product, "it offers version \(offer.contentVersion) of \(content), which was withdrawn")
      }
      listed.append(try offer.checked(content, of: product, signers: signers))
    }
    description = form.description
    self.listed = listed.sorted(by: Self.isOrdered)
    retiredVersions = form.retired.mapValues { $0.sorted(by: >) }.filter { !$0.value.isEmpty }
    withdrawnVersions = form.withdrawn.mapValues { $0.sorted() }.filter { !$0.value.isEmpty }
  }

  /// JSON with sorted keys, in one line; equal records have equal JSON.
  package var json: [UInt8] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return Array(try encoder.encode(self))
    }
  }

  fileprivate struct Form: Decodable {
    enum CodingKeys: CodingKey { case contents, retiredVersions, withdrawnVersions }

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

      /// Returns the offer of `content`; throws `storeDamaged` if a value is invalid.
      func checked(
        _ content: ProductIdentifier, of product: ProductIdentifier, signers: Digest?
      ) throws -> ContentOffer {
        guard content == product || !StorePath.isFileName(content) else {
          throw ContentError.recordDamaged(product, "the content \(content) has a reserved name")
        }
        for file in [package, index] where !StorePath.isFile(file.path, of: product) {
          throw ContentError.recordDamaged(
            product, "the path \(file.path.printable(limit: 100)) is not in the product's folder")
        }
        // Clients add sizes, which must not overflow.
        for size in [package.length, index.length, installedSize]
        where !(0...PackageIndex.maximumSize).contains(size) {
          throw ContentError.recordDamaged(
            product, "the size of \(size) bytes is negative or above \(PackageIndex.maximumSize)")
        }
        return ContentOffer(
          productIdentifier: product, contentIdentifier: content, version: contentVersion,
          installedSize: installedSize, package: package.signed, index: index.signed,
          signers: signers)
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
    let retired: [ProductIdentifier: [ContentVersion]]
    let withdrawn: [ProductIdentifier: [ContentVersion]]

    init(from decoder: any Decoder) throws {
      description = try ProductRecord(from: decoder)
      let container = try decoder.container(keyedBy: CodingKeys.self)
      offers = try container.decodeIfPresent([Offer].self, forKey: .contents) ?? []
      retired = try container.decodeVersions(forKey: .retiredVersions)
      withdrawn = try container.decodeVersions(forKey: .withdrawnVersions)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    try description.encode(to: encoder)
    var container = encoder.container(keyedBy: Form.CodingKeys.self)
    let offers = listed.map { Form.Offer($0, of: product) }
    if !offers.isEmpty { try container.encode(offers, forKey: .contents) }
    try container.encodeVersions(retiredVersions, forKey: .retiredVersions)
    try container.encodeVersions(withdrawnVersions, forKey: .withdrawnVersions)
  }
}
