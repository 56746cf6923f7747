package import ContentModel

/// The names of a product's targets in a store.
///
/// The product's own content is in the folder of its version. Any other content has a folder of its
/// own below that. A product with one content therefore needs no second name.
package enum StoreTargetName {
  /// What a target is.
  ///
  /// The raw value is the name of its file.
  package enum Kind: String, Sendable {
    case package = "content.pkg"
    case index = "content.index"
    case record = "product.json"
  }

  /// What the target `name` is, by its last component; nil for another name.
  package static func kind(of name: String) -> Kind? {
    let components = name.pathComponents(omittingEmpty: false)
    return components.count > 1 ? components.last.flatMap(Kind.init(rawValue:)) : nil
  }

  /// The target of the index that belongs to the archive `package`.
  package static func index(ofPackage package: String) -> String {
    package.dropLast(Kind.package.rawValue.count) + Kind.index.rawValue
  }

  /// The target of a content package's archive.
  package static func package(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion
  ) -> String {
    (folder(product, content, version) + [Kind.package.rawValue]).joined(separator: "/")
  }

  /// The target of a content package's index.
  package static func index(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion
  ) -> String {
    (folder(product, content, version) + [Kind.index.rawValue]).joined(separator: "/")
  }

  /// The components of the folder, below `targets`, of a content's archive and index.
  package static func folder(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion
  ) -> [String] {
    [product.rawValue, version.rawValue] + (content == product ? [] : [content.rawValue])
  }

  /// Whether a folder with the name `content` could collide with a file of the product's own
  /// content.
  ///
  /// Files are named `<SHA-256>.content.pkg`, or `content.pkg` in a store without consistent
  /// snapshots. The check ignores case, because a store may be copied to a file system that does.
  package static func isFileName(_ content: ProductIdentifier) -> Bool {
    let name = content.rawValue.lowercased()
    return [Kind.package, .index].map(\.rawValue).contains {
      name == $0 || name.hasSuffix(".\($0)")
    }
  }

  /// The target of a product's record.
  package static func record(_ product: ProductIdentifier) -> String {
    "\(product)/\(Kind.record.rawValue)"
  }
}

/// The `custom` member of a content package's target.
package struct ContentCustom: Hashable, Sendable {
  package let productIdentifier: ProductIdentifier
  package let contentIdentifier: ProductIdentifier
  package let version: ContentVersion
  /// The size of all installed files, in bytes.
  package let installedSize: Int64
  /// The target name of the index.
  package let index: String

  /// Creates the values.
  ///
  /// A nil `contentIdentifier` is the product's own content.
  package init(
    productIdentifier: ProductIdentifier, contentIdentifier: ProductIdentifier? = nil,
    version: ContentVersion, installedSize: Int64
  ) {
    let contentIdentifier = contentIdentifier ?? productIdentifier
    self.productIdentifier = productIdentifier
    self.contentIdentifier = contentIdentifier
    self.version = version
    self.installedSize = installedSize
    index = StoreTargetName.index(productIdentifier, contentIdentifier, version)
  }

  /// Reads the values; nil if one is missing or invalid.
  init?(json: JSONValue?) {
    guard
      let product = json?["productIdentifier"]?.string.flatMap({
        try? ProductIdentifier(validating: $0)
      }),
      let content = json?["contentIdentifier"]?.string.flatMap({
        try? ProductIdentifier(validating: $0)
      }),
      let version = json?["contentVersion"]?.string.flatMap({ try? ContentVersion(validating: $0) }
      ),
      let installedSize = json?["installedSize"]?.integer, installedSize >= 0,
      let index = json?["index"]?.string
    else { return nil }
    productIdentifier = product
    contentIdentifier = content
    self.version = version
    self.installedSize = installedSize
    self.index = index
  }

  package var json: JSONValue {
    .object([
      "productIdentifier": .string(productIdentifier.rawValue),
      "contentIdentifier": .string(contentIdentifier.rawValue),
      "contentVersion": .string(version.rawValue), "installedSize": .integer(installedSize),
      "index": .string(index),
    ])
  }
}

/// The products in a store's targets.
package struct StoreListing: Sendable {
  /// One product: whether it has a record, and every version of its contents.
  package struct Entry: Sendable {
    /// Whether the store has a record of the product.
    package fileprivate(set) var hasRecord = false
    /// Every version of every content package.
    ///
    /// The product's own content is first, then by content identifier; the newest version of each
    /// is first.
    package fileprivate(set) var offers: [ContentOffer] = []
    /// Why this product is unavailable; nil if it is available.
    ///
    /// Other products are not affected. Either a target of the product contradicts itself, or
    /// another product claims one of its contents.
    package fileprivate(set) var error: ContentError?

    /// The newest version of each content package: the product's own first, then by identifier.
    package var newestOffers: [ContentOffer] {
      var seen: Set<ProductIdentifier> = []
      return offers.filter { seen.insert($0.contentIdentifier).inserted }
    }
  }

  /// The products.
  ///
  /// Targets with other names, which a later version may write, are ignored.
  package private(set) var products: [ProductIdentifier: Entry] = [:]
  /// The products that claim a content: they offer it, or have the same identifier.
  private var claimants: [ProductIdentifier: Set<ProductIdentifier>] = [:]

  /// Reads the names and `custom` members, without fetching.
  package init(_ targets: TrustedTargets) {
    for (name, file) in targets.targets { add(name, file, targets) }
    for (product, entry) in products {
      claimants[product, default: []].insert(product)
      for offer in entry.offers {
        claimants[offer.contentIdentifier, default: []].insert(product)
      }
    }
    for (product, entry) in products {
      var entry = entry
      entry.offers.sort(by: Self.isOrdered)
      entry.error = entry.error ?? refusalOfClaims(product, entry)
      products[product] = entry
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

  /// Returns a product other than `product` that claims `content`; nil if no other does.
  package func claimant(of content: ProductIdentifier, besides product: ProductIdentifier)
    -> ProductIdentifier?
  {
    claimants[content]?.subtracting([product]).min()
  }

  /// Returns an error if another product claims a content of the product; nil otherwise.
  ///
  /// Contents are installed under their own names, so a product that claims another product's
  /// content would write into its folder. A content with a product's identifier belongs to that
  /// product. The owner of any other content is unknown, so every product that claims it is
  /// refused.
  private func refusalOfClaims(_ product: ProductIdentifier, _ entry: Entry) -> ContentError? {
    let contents = Set(entry.offers.map(\.contentIdentifier)).subtracting([product])
    for content in contents.sorted() {
      if let other = claimant(of: content, besides: product) {
        return ContentError(
          .contentClaimed,
          "The catalog assigns the content \(content) to both \(product) and \(other)",
          remedy: "Ask the store's owner to publish it for only one product",
          subject: product.rawValue)
      }
    }
    return nil
  }

  private mutating func add(_ name: String, _ file: TargetFile, _ targets: TrustedTargets) {
    let components = name.pathComponents(omittingEmpty: false)
    guard let product = components.first.flatMap({ try? ProductIdentifier(validating: $0) }) else {
      return
    }
    switch (components.count, StoreTargetName.kind(of: name)) {
    case (2, .record): products[product, default: Entry()].hasRecord = true
    case (3...4, .package):
      if let offer = Self.offer(name, file, of: product, in: targets) {
        products[product, default: Entry()].offers.append(offer)
      } else {
        products[product, default: Entry()].error = ContentError(
          .storeDamaged, "The catalog entry of \(name) is inconsistent",
          remedy: "Ask the store's owner to publish the product again", subject: product.rawValue)
      }
    default: break
    }
  }

  private static func offer(
    _ name: String, _ file: TargetFile, of product: ProductIdentifier, in targets: TrustedTargets
  ) -> ContentOffer? {
    guard let custom = ContentCustom(json: file.custom), custom.productIdentifier == product,
      name == StoreTargetName.package(product, custom.contentIdentifier, custom.version),
      !StoreTargetName.isFileName(custom.contentIdentifier) || custom.contentIdentifier == product,
      let package = targets.signedFile(name, file),
      let index = targets.targets[custom.index].flatMap({ targets.signedFile(custom.index, $0) })
    else { return nil }
    return ContentOffer(
      productIdentifier: product, contentIdentifier: custom.contentIdentifier,
      version: custom.version, installedSize: custom.installedSize,
      package: package, index: index, signers: targets.signers)
  }
}

extension TrustedTargets {
  /// The target as a file to fetch and verify; nil if its SHA-256 is not listed.
  package func signedFile(_ name: String, _ file: TargetFile) -> SignedFile? {
    file.digest.map { SignedFile(path: path(of: name, file), length: file.length, digest: $0) }
  }

  /// Fetches and verifies the record of `product`.
  ///
  /// Blocks. Throws `storeMissing` if the store has no record, `digestMismatch` if its bytes differ
  /// from the metadata, and `storeDamaged` if it cannot be read.
  package func fetchRecord(of product: ProductIdentifier) throws -> ProductRecord {
    try ProductRecord(json: fetchTarget(StoreTargetName.record(product)), of: product)
  }
}
