package import ContentModel

/// The names of a product's targets in a store.
///
/// A product's own content lies in the folder of its version, any other one in a folder of its own
/// below that, so that a product with one content needs no second name.
package enum StoreTargetName {
  private static let packageName = "content.pkg"
  private static let indexName = "content.index"

  /// The target that is a content package's archive.
  package static func package(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion
  ) -> String {
    (folder(product, content, version) + [packageName]).joined(separator: "/")
  }

  /// The target that is a content package's index.
  package static func index(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion
  ) -> String {
    (folder(product, content, version) + [indexName]).joined(separator: "/")
  }

  /// The names of the folders, from `targets` on, that hold a content's archive and index.
  package static func folder(
    _ product: ProductIdentifier, _ content: ProductIdentifier, _ version: ContentVersion
  ) -> [String] {
    [product.rawValue, version.rawValue] + (content == product ? [] : [content.rawValue])
  }

  /// Whether a folder named `content` could stand where a file of the product's own content does.
  ///
  /// Files are named `<SHA-256>.content.pkg`, or `content.pkg` in a store without consistent
  /// snapshots. Stores may be copied to file systems that ignore case.
  package static func isFileName(_ content: ProductIdentifier) -> Bool {
    let name = content.rawValue.lowercased()
    return [packageName, indexName].contains { name == $0 || name.hasSuffix(".\($0)") }
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

  /// Creates the values; nil is the product's own content.
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

  /// Reads the values; nil when one is missing or breaks its rules.
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

/// What a store's targets say of products, sorted by product.
package struct StoreListing: Sendable {
  /// One product: where its record is, and every version of its content.
  package struct Entry: Sendable {
    /// Whether the store has a record of the product.
    package fileprivate(set) var hasRecord = false
    /// Every version of every content package: the product's own first, then by content
    /// identifier; the newest version of each first.
    package fileprivate(set) var offers: [ContentOffer] = []
    /// Why this product cannot be had; costs no other one.
    ///
    /// A target of it contradicts itself, or another product claims a content of it.
    package fileprivate(set) var error: ContentError?

    /// The newest version of each content package: the product's own first, then by identifier.
    package var newestOffers: [ContentOffer] {
      var seen: Set<ProductIdentifier> = []
      return offers.filter { seen.insert($0.contentIdentifier).inserted }
    }
  }

  /// The products; targets of other shapes, which a later version may write, are not in it.
  package private(set) var products: [ProductIdentifier: Entry] = [:]
  /// Every product that claims a content: by offering it, or by being called so.
  private var claimants: [ProductIdentifier: Set<ProductIdentifier>] = [:]

  /// Reads the names and `custom` members; fetches nothing.
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

  /// Another product than `product` that claims `content`; nil when there is none.
  package func claimant(of content: ProductIdentifier, besides product: ProductIdentifier)
    -> ProductIdentifier?
  {
    claimants[content]?.subtracting([product]).min()
  }

  /// Why the product's contents cannot be believed to be its own; nil when they are.
  ///
  /// Contents are installed under their own names, so that a product which claims another one's
  /// would write into its folder. A content that is called like a product is that product's; of any
  /// other it cannot be said whose it is, and each product that claims it is refused.
  private func refusalOfClaims(_ product: ProductIdentifier, _ entry: Entry) -> ContentError? {
    let contents = Set(entry.offers.map(\.contentIdentifier)).subtracting([product])
    for content in contents.sorted() {
      if let other = claimant(of: content, besides: product) {
        return ContentError(
          .contentClaimed,
          "The catalog gives the content \(content) to both \(product) and \(other)",
          remedy: "The store's owner publishes it for one product only", subject: product.rawValue)
      }
    }
    return nil
  }

  private mutating func add(_ name: String, _ file: TargetFile, _ targets: TrustedTargets) {
    let components = name.pathComponents(omittingEmpty: false)
    guard let product = components.first.flatMap({ try? ProductIdentifier(validating: $0) }) else {
      return
    }
    switch (components.count, components.last) {
    case (2, "product.json"): products[product, default: Entry()].hasRecord = true
    case (3...4, "content.pkg"):
      if let offer = Self.offer(name, file, of: product, in: targets) {
        products[product, default: Entry()].offers.append(offer)
      } else {
        products[product, default: Entry()].error = ContentError(
          .storeDamaged, "The catalog's entry of \(name) contradicts itself",
          remedy: "The store's owner publishes the product again", subject: product.rawValue)
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
  /// The target as it is fetched and checked; nil where no SHA-256 is promised.
  package func signedFile(_ name: String, _ file: TargetFile) -> SignedFile? {
    file.digest.map { SignedFile(path: path(of: name, file), length: file.length, digest: $0) }
  }

  /// The record of `product`, fetched and checked; blocks.
  ///
  /// Throws `storeMissing` when the store has none, `digestMismatch` when its bytes are others, and
  /// `storeDamaged` when it cannot be read.
  package func fetchRecord(of product: ProductIdentifier) throws -> ProductRecord {
    try ProductRecord(json: fetchTarget(StoreTargetName.record(product)), of: product)
  }
}
