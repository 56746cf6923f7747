package import ContentModel
import ContentPackage
package import ContentTrust
import FileIO
import FoundationEssentials
import Concurrency

/// The catalog of a store from its verified metadata; blocks, may be used from any thread.
package final class Catalog: Sendable {
  private let client: TrustClient
  private let trustedRoot: [UInt8]?
  private let firstUse: @Sendable () throws -> [UInt8]?
  private let records = RecordCache()
  private let listings = ListingCache()

  /// Creates a catalog.
  ///
  /// Without a `trustedRoot`, the first refresh of a library starts from the root that `firstUse`
  /// returns.
  package init(
    client: TrustClient, trustedRoot: [UInt8]?,
    firstUse: @escaping @Sendable () throws -> [UInt8]? = { nil }
  ) {
    self.client = client
    self.trustedRoot = trustedRoot
    self.firstUse = firstUse
  }

  /// Creates the catalog of `store`, trusted by `trustedRoot` or by the store's own root.
  convenience init(
    of store: StoreAccess, trustedRoot: [UInt8]?, trustFolder: Directory, isReadOnly: Bool = false,
    now: @escaping @Sendable () -> Date
  ) {
    self.init(
      client: TrustClient(
        trustFolder: trustFolder, isReadOnly: isReadOnly, fetcher: store, now: now),
      trustedRoot: trustedRoot, firstUse: store.ownRoot)
  }

  /// Fetches new metadata and returns the catalog; throws the errors of `TrustClient`.
  package func refresh() throws -> CatalogSnapshot {
    snapshot(
      try retryingOnce { try client.refresh(initialRoot: trustedRoot, firstUse: firstUse) })
  }

  /// Returns the catalog of the last refresh without fetching; nil before the first refresh.
  package func cached() throws -> CatalogSnapshot? {
    try client.cached(initialRoot: trustedRoot).map { snapshot($0) }
  }

  private func snapshot(_ targets: TrustedTargets) -> CatalogSnapshot {
    CatalogSnapshot(targets, listings.listing(of: targets), records)
  }
}

/// A snapshot of the catalog; may be used from any thread.
package struct CatalogSnapshot: Sendable {
  private let targets: TrustedTargets
  private let listing: StoreListing
  private let records: RecordCache

  fileprivate init(_ targets: TrustedTargets, _ listing: StoreListing, _ records: RecordCache) {
    self.targets = targets
    self.listing = listing
    self.records = records
  }

  /// The identifiers of all products, sorted.
  package var identifiers: [ProductIdentifier] { listing.products.keys.sorted() }

  /// Returns every version of the product's contents that the store has.
  ///
  /// Sorted by content identifier, the product's own first; the newest version of each first.
  package func offers(of product: ProductIdentifier) -> [ContentOffer] {
    listing.products[product]?.offers ?? []
  }

  /// Returns the offer of a content that a seller names: its version, or else the newest.
  ///
  /// Throws `answerMismatch` if the product does not have this content, and the errors of
  /// `product(_:)` if the catalog contradicts itself about the product.
  func offer(for content: ContentOffer, of product: ProductIdentifier) throws -> ContentOffer {
    if let error = listing.products[product]?.error { throw error }
    let offers = offers(of: product).filter { $0.contentIdentifier == content.contentIdentifier }
    guard let offer = offers.first(where: { $0.version == content.version }) ?? offers.first else {
      throw ContentError.notOffered(content.contentIdentifier, of: product)
    }
    return offer
  }

  /// The number of records fetched concurrently; each is a round trip.
  private static let recordsAtOnce = 8

  /// Returns the products with these identifiers, or all for nil; blocks to fetch records.
  ///
  /// A product that cannot be read is added to the failures; the others are not affected.
  package func products(_ wanted: Set<ProductIdentifier>?) -> ProductsResponse {
    let known = wanted.map { $0.filter { listing.products[$0] != nil } } ?? Set(identifiers)
    var products: [Product] = []
    var failures: [ContentError] = []
    for result in lookUp(known.sorted()) {
      switch result {
      case .success(let product): products.append(product)
      case .failure(let error): failures.append(error)
      }
    }
    let unknown = wanted?.subtracting(known) ?? []
    return ProductsResponse(
      products: products, invalidProductIdentifiers: unknown.map(\.rawValue).sorted(),
      failures: failures
    ).offering(unknown.isEmpty ? [] : identifiers)
  }

  /// Returns the contents of the products with these identifiers, or of all for nil.
  ///
  /// Fetches only the records of products without content, because their type matters.
  package func contents(of wanted: Set<ProductIdentifier>?) -> ContentsResponse {
    let known = wanted.map { $0.filter { listing.products[$0] != nil } } ?? Set(identifiers)
    let withContent = known.filter { listing.products[$0]?.isDescribedWithoutRecord == true }
    let described = products(known.subtracting(withContent))
    let found = withContent.compactMap { try? contents(of: $0) }
    let unknown = wanted?.subtracting(known) ?? []
    return ContentsResponse(
      products: (found + described.products.map(ProductContents.init))
        .sorted { $0.productIdentifier < $1.productIdentifier },
      invalidProductIdentifiers: unknown.map(\.rawValue).sorted(), failures: described.failures,
      offeredIdentifiers: unknown.isEmpty ? [] : identifiers)
  }

  /// Returns the contents of one product; throws the errors of `product(_:)`.
  func contents(of identifier: ProductIdentifier) throws -> ProductContents {
    guard let entry = listing.products[identifier], entry.isDescribedWithoutRecord else {
      return ProductContents(try product(identifier))
    }
    return ProductContents(
      productIdentifier: identifier, type: nil, contents: entry.newestOffers)
  }

  /// Looks up each product; returns the results in the same order.
  private func lookUp(_ identifiers: [ProductIdentifier]) -> [Result<Product, ContentError>] {
    let found = try? inParallel(
      Array(identifiers.indices), workers: Self.recordsAtOnce, portion: 1, context: {}
    ) { number, _ in (number, self.lookUp(identifiers[number])) }
    // No thread was available.
    guard let found else { return identifiers.map(lookUp) }
    return found.sorted { $0.0 < $1.0 }.map(\.1)
  }

  private func lookUp(_ identifier: ProductIdentifier) -> Result<Product, ContentError> {
    do {
      return .success(try product(identifier))
    } catch {
      let error = ContentError(error, while: "reading \(identifier)")
      return .failure(error.about(identifier.rawValue))
    }
  }

  /// Returns one product; throws `productUnknown` if the store does not offer it.
  package func product(_ identifier: ProductIdentifier) throws -> Product {
    guard let entry = listing.products[identifier] else {
      throw ContentError.notOffered(identifier.rawValue)
    }
    return try product(identifier, entry)
  }

  private func product(_ identifier: ProductIdentifier, _ entry: StoreListing.Entry) throws
    -> Product
  {
    if let error = entry.error { throw error }
    let record = try retryingOnce { try records.record(of: identifier, in: targets) }
    return Product(record, contents: entry.newestOffers)
  }
}

extension StoreListing.Entry {
  /// Whether the targets metadata alone is enough to install the product.
  fileprivate var isDescribedWithoutRecord: Bool { hasRecord && error == nil && !offers.isEmpty }
}

/// Caches the listing of the last targets metadata, so that an unchanged refresh reuses it.
private final class ListingCache: Sendable {
  private struct Known {
    let digest: Digest
    let usesConsistentSnapshots: Bool
    let listing: StoreListing
  }

  private let last = Mutex<Known?>(nil)

  func listing(of targets: TrustedTargets) -> StoreListing {
    if let known = last.withLock({ $0 }), known.digest == targets.digest,
      known.usesConsistentSnapshots == targets.usesConsistentSnapshots
    {
      return known.listing
    }
    let listing = StoreListing(targets)
    if let digest = targets.digest {
      let known = Known(
        digest: digest, usesConsistentSnapshots: targets.usesConsistentSnapshots, listing: listing)
      last.withLock { $0 = known }
    }
    return listing
  }
}

/// Caches records by digest, so that a refresh fetches only changed records.
private final class RecordCache: Sendable {
  private struct Known {
    let digest: Digest
    let record: ProductRecord
  }

  private let known = Mutex<[ProductIdentifier: Known]>([:])

  func record(of product: ProductIdentifier, in targets: TrustedTargets) throws -> ProductRecord {
    let digest = targets.targets[StoreTargetName.record(product)]?.digest
    if let known = known.withLock({ $0[product] }), known.digest == digest { return known.record }
    let record = try targets.fetchRecord(of: product)
    if let digest {
      known.withLock { $0[product] = Known(digest: digest, record: record) }
    }
    return record
  }
}

/// Runs `body`, and once more if it received bytes that do not match the signed metadata.
///
/// Another server, such as a login page, may have responded instead of the store.
private func retryingOnce<Value>(_ body: () throws -> Value) throws -> Value {
  do {
    return try body()
  } catch let error as ContentError
    where [.metadataDamaged, .digestMismatch, .signatureInvalid].contains(error.code)
  {
    return try body()
  }
}
