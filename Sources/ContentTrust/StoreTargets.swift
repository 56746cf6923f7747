package import ContentModel

/// The names of a product's targets in a store.
package enum StoreTargetName {
  /// The target that is a content package's archive.
  package static func package(_ product: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(product)/\(version)/content.pkg"
  }

  /// The target that is a content package's index.
  package static func index(_ product: ProductIdentifier, _ version: ContentVersion) -> String {
    "\(product)/\(version)/content.index"
  }

  /// The target that is a product's record.
  package static func record(_ product: ProductIdentifier) -> String { "\(product)/product.json" }
}

/// What the `custom` member of a content package's target says.
package struct ContentCustom: Hashable, Sendable {
  package let productIdentifier: ProductIdentifier
  package let contentIdentifier: ProductIdentifier
  package let version: ContentVersion
  /// Bytes of all files once installed.
  package let installedSize: Int64
  /// The name of the index's target.
  package let index: String

  /// Creates the values of a product's own content.
  package init(productIdentifier: ProductIdentifier, version: ContentVersion, installedSize: Int64)
  {
    self.productIdentifier = productIdentifier
    contentIdentifier = productIdentifier
    self.version = version
    self.installedSize = installedSize
    index = StoreTargetName.index(productIdentifier, version)
  }

  /// Reads the values; nil when one is missing or breaks its rules.
  init?(json: JSONValue?) {
    guard let product = json?["productIdentifier"]?.string.flatMap({ try? ProductIdentifier($0) }),
      let content = json?["contentIdentifier"]?.string.flatMap({ try? ProductIdentifier($0) }),
      let version = json?["contentVersion"]?.string.flatMap({ try? ContentVersion($0) }),
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

/// What a store's targets say of products, sorted by product.
package struct StoreListing: Sendable {
  /// One product: where its record is, and every version of its content.
  package struct Entry: Sendable {
    /// Whether the store has a record of the product.
    package fileprivate(set) var hasRecord = false
    /// Every version of every content package, newest first.
    package fileprivate(set) var offers: [ContentOffer] = []
    /// The first target of the product that contradicts itself; costs this product only.
    package fileprivate(set) var error: ContentError?

    /// The newest version of each content package, by content identifier.
    package var newestOffers: [ContentOffer] {
      var seen: Set<ProductIdentifier> = []
      return offers.filter { seen.insert($0.contentIdentifier).inserted }
        .sorted { $0.contentIdentifier < $1.contentIdentifier }
    }
  }

  /// The products; targets of other shapes, which a later version may write, are not in it.
  package private(set) var products: [ProductIdentifier: Entry] = [:]

  /// Reads the names and `custom` members; fetches nothing.
  package init(_ targets: TrustedTargets) {
    for (name, file) in targets.targets { add(name, file, targets) }
    for product in products.keys {
      products[product]?.offers.sort {
        ($1.version, $0.contentIdentifier) < ($0.version, $1.contentIdentifier)
      }
    }
  }

  private mutating func add(_ name: String, _ file: TargetFile, _ targets: TrustedTargets) {
    let components = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard let product = components.first.flatMap({ try? ProductIdentifier($0) }) else { return }
    switch (components.count, components.last) {
    case (2, "product.json"): products[product, default: Entry()].hasRecord = true
    case (3, "content.pkg"):
      if let offer = Self.offer(name, file, of: product, in: targets) {
        products[product, default: Entry()].offers.append(offer)
      } else {
        products[product, default: Entry()].error = ContentError(
          .storeDamaged, "The catalogue's entry of \(name) contradicts itself",
          remedy: "The store's owner publishes the product again", subject: product.rawValue)
      }
    default: break
    }
  }

  private static func offer(
    _ name: String, _ file: TargetFile, of product: ProductIdentifier, in targets: TrustedTargets
  ) -> ContentOffer? {
    guard let custom = ContentCustom(json: file.custom), custom.productIdentifier == product,
      name == StoreTargetName.package(product, custom.version),
      let index = targets.targets[custom.index]
    else { return nil }
    return ContentOffer(
      productIdentifier: product, contentIdentifier: custom.contentIdentifier,
      version: custom.version, installedSize: custom.installedSize,
      package: targets.signedFile(name, file), index: targets.signedFile(custom.index, index))
  }
}

extension TrustedTargets {
  /// The target as it is fetched and checked.
  package func signedFile(_ name: String, _ file: TargetFile) -> SignedFile {
    SignedFile(path: path(of: name, file), length: file.length, digest: file.digest)
  }

  /// The record of `product`, fetched and checked; blocks.
  ///
  /// Throws `storeMissing` when the store has none, `digestMismatch` when its bytes are others, and
  /// `storeDamaged` when it cannot be read.
  package func fetchRecord(of product: ProductIdentifier) throws -> ProductRecord {
    try ProductRecord(json: fetchTarget(StoreTargetName.record(product)), of: product)
  }
}
