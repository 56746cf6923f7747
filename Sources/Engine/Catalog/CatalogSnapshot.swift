import HostedConcurrency
package import HostedModel
package import HostedTrust
import HostedDigests

/// A snapshot of the catalog; may be used from any thread.
///
/// Lists and records are fetched when they are needed, so methods block.
package struct CatalogSnapshot: Sendable {
  private let targets: TrustedTargets
  private let records: RecordCache

  init(_ targets: TrustedTargets, _ records: RecordCache) {
    (self.targets, self.records) = (targets, records)
  }

  /// Changes with each publication.
  package var version: String { targets.catalogVersion }

  /// The number of lists or records fetched concurrently; each is a round trip.
  private static let requestsAtOnce = 8

  // MARK: One product

  /// Returns one product; throws `productUnknown` if the store does not offer it.
  package func product(_ identifier: ProductIdentifier) throws -> Product {
    guard let record = try record(of: identifier) else {
      throw ContentError.notOffered(identifier.rawValue)
    }
    return Product(record)
  }

  /// Returns every version of the product's contents that the store has.
  ///
  /// Sorted by content identifier, the product's own first; the newest version of each first. Empty
  /// for an unknown product.
  package func offers(of product: ProductIdentifier) throws -> [ContentOffer] {
    try record(of: product)?.offers ?? []
  }

  /// Returns the offer of a content that a service names: its version, or else the newest.
  ///
  /// Throws `answerMismatch` if the product does not have this content, and the errors of
  /// `product(_:)` if the catalog contradicts itself about the product.
  package func offer(for content: ContentOffer, of product: ProductIdentifier) throws
    -> ContentOffer
  {
    let offers = try offers(of: product).filter {
      $0.contentIdentifier == content.contentIdentifier
    }
    guard let offer = offers.first(where: { $0.version == content.version }) ?? offers.first else {
      throw ContentError.notOffered(content.contentIdentifier, of: product)
    }
    return offer
  }

  private func record(of product: ProductIdentifier, from known: [Digest: [UInt8]] = [:]) throws
    -> CatalogRecord?
  {
    try retryingOnce {
      guard case .product(let file) = try targets.entry(product) else { return nil }
      return try record(of: product, file, from: known)
    }
  }

  private func record(
    of product: ProductIdentifier, _ file: TargetFile, from known: [Digest: [UInt8]] = [:]
  ) throws -> CatalogRecord {
    let record = try records.record(of: product, file.digest) {
      try targets.record(of: product, file, known: file.digest.flatMap { known[$0] })
    }
    try targets.checkClaims(of: record)
    return record
  }

  /// The keys that verify receipts of the store's sellers; nil if the store does not list any.
  package func receiptKeys() throws -> [ReceiptVerificationKey]? {
    try retryingOnce { try targets.receiptKeys() }?.compactMap { try? ReceiptVerificationKey($0) }
  }

  // MARK: Several products

  /// Returns the products with these identifiers, or all for nil.
  ///
  /// A product that cannot be read is added to the failures; the others are not affected.
  package func products(_ wanted: Set<ProductIdentifier>?) -> ProductsResponse {
    // A small store's records are kept, a large store's are not.
    let all = wanted == nil ? productsOfSmallStore : nil
    guard let wanted = wanted ?? all else { return allProducts() }
    var (products, unknown, failures): ([Product], [ProductIdentifier], [ContentError]) =
      ([], [], [])
    let identifiers = wanted.sorted()
    let results = lookUp(identifiers, recordsOfList: all == nil ? Self.recordsOfList : 2)
    for (identifier, result) in zip(identifiers, results) {
      switch result {
      case .success(let product?): products.append(product)
      case .success(nil): unknown.append(identifier)
      case .failure(let error): failures.append(error)
      }
    }
    return ProductsResponse(
      products: products, invalidProductIdentifiers: unknown.map(\.rawValue), failures: failures
    ).offering(unknown.isEmpty ? [] : (productsOfSmallStore ?? []).sorted())
  }

  /// The identifiers of all products of a store with one list; nil for a large store, whose lists
  /// would have to be fetched.
  private var productsOfSmallStore: Set<ProductIdentifier>? {
    guard (try? targets.lists.count) == 1, let list = try? targets.list(.targets) else {
      return nil
    }
    return Set(list.products.keys)
  }

  /// Looks up each product; returns the results in the same order, nil for an unknown product.
  ///
  /// If `recordsOfList` or more records of a list are not known yet, its records file is fetched
  /// instead.
  package func lookUp(
    _ identifiers: [ProductIdentifier], recordsOfList: Int = Self.recordsOfList
  ) -> [Result<Product?, ContentError>] {
    let records = fetchRecordsFiles(of: Set(identifiers), atLeast: recordsOfList)
    return inOrder(identifiers) { identifier in
      do {
        return .success(try record(of: identifier, from: records).map { Product($0) })
      } catch {
        return .failure(ContentError(error, while: "reading the catalog").naming(identifier))
      }
    }
  }

  /// The default number of unknown records from which the records file of their list is fetched.
  package static let recordsOfList = 8

  /// Returns the records of lists of which many of `products` are wanted, by digest.
  ///
  /// Without errors: a record that is not returned is fetched alone.
  private func fetchRecordsFiles(
    of products: Set<ProductIdentifier>, atLeast minimum: Int
  ) -> [Digest: [UInt8]] {
    let wanted = Dictionary(grouping: products) { (try? targets.listName(for: $0)) ?? .targets }
      .filter { $0.value.count >= minimum }
    let found = inOrder(Array(wanted)) { name, products -> [Digest: [UInt8]] in
      guard let list = try? targets.list(name) else { return [:] }
      let isWorthIt =
        products.count {
          guard case .product(let file) = list.entry($0) else { return false }
          return !records.has($0, file.digest) && (try? targets.keptRecord(of: $0, file)) == nil
        } >= minimum
      return isWorthIt ? (try? targets.records(of: list)) ?? [:] : [:]
    }
    return found.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
  }

  // MARK: All products

  private func allProducts() -> ProductsResponse {
    var (products, failures): ([Product], [ContentError]) = ([], [])
    forEachList { found, failed in
      products += found
      failures += failed
    }
    return ProductsResponse(
      products: products.sorted { $0.productIdentifier < $1.productIdentifier },
      failures: failures)
  }

  /// Calls `body` with the products of each list, and the errors of products that cannot be read.
  ///
  /// In memory are only the lists that are fetched at the same time.
  package func forEachList(
    _ body: (_ products: [Product], _ failures: [ContentError]) throws -> Void
  ) rethrows {
    let names: [MetadataName]
    do {
      names = try targets.lists
    } catch {
      return try body([], [ContentError(error, while: "reading the catalog")])
    }
    for start in stride(from: 0, to: names.count, by: Self.requestsAtOnce) {
      let group = Array(names[start..<min(start + Self.requestsAtOnce, names.count)])
      for (products, failures) in inOrder(group, products(ofList:)) { try body(products, failures) }
    }
  }

  private func products(ofList name: MetadataName) -> ([Product], [ContentError]) {
    let list: CatalogList
    do {
      list = try retryingOnce { try targets.list(name) }
    } catch {
      return ([], [ContentError(error, while: "reading \(name.fileName)")])
    }
    let known = (try? targets.records(of: list)) ?? [:]
    var (products, failures): ([Product], [ContentError]) = ([], [])
    for (identifier, file) in list.products.sorted(by: { $0.key < $1.key }) {
      do {
        // Not kept: a list of all products would replace what the library needs.
        if let bytes = file.digest.flatMap({ known[$0] }) {
          let record = try CatalogRecord(json: bytes, of: identifier, signers: targets.signers)
          try targets.checkClaims(of: record)
          products.append(Product(record))
        } else {
          products.append(Product(try retryingOnce { try record(of: identifier, file) }))
        }
      } catch {
        failures.append(ContentError(error, while: "reading the catalog").naming(identifier))
      }
    }
    return (products, failures)
  }

  // MARK: Pages

  /// A part of all products.
  package struct Page: Sendable {
    /// Sorted by identifier.
    package let products: [Product]
    /// The errors of lists and products that cannot be read.
    package let failures: [ContentError]
    /// The position of the next page; nil for the last page.
    package let next: ProductIdentifier?
  }

  /// Returns up to `limit` products after a position, or the first ones for nil.
  ///
  /// Products are in the order of the hashes that divide them into lists. So a page reads only the
  /// lists that it needs, and none is left out if the number of lists changes between two pages.
  package func page(after position: ProductIdentifier?, limit: Int) throws -> Page {
    let start = try position.map { try Self.place(of: $0) } ?? ""
    let names = try targets.lists
    let first = try position.flatMap { names.firstIndex(of: try targets.listName(for: $0)) } ?? 0
    var (products, failures): ([Product], [ContentError]) = ([], [])
    var found: [(place: String, product: ProductIdentifier)] = []
    for name in names[first...] where found.count <= limit {
      do {
        let list = try retryingOnce { try targets.list(name) }
        let entries = try list.products.keys.map { (place: try Self.place(of: $0), product: $0) }
        found += entries.filter { $0.place > start }.sorted { $0.place < $1.place }
      } catch {
        // Without the store, each of a thousand lists would be tried.
        guard failures.count < Self.requestsAtOnce else { throw error }
        failures.append(ContentError(error, while: "reading \(name.fileName)"))
      }
    }
    let page = found.prefix(limit).map(\.product).sorted()
    for result in lookUp(page) {
      switch result {
      case .success(let product): products += product.map { [$0] } ?? []
      case .failure(let error): failures.append(error)
      }
    }
    let next = found.count > limit ? found[limit - 1].product : nil
    return Page(products: products, failures: failures, next: next)
  }

  /// The place of a product in the order of the lists.
  private static func place(of product: ProductIdentifier) throws -> String {
    try Digest(of: Array(StorePath.entry(product).utf8)).hex
  }

  /// Returns the values of `body` for `items`, in the same order; calls it on several threads.
  private func inOrder<Item: Sendable, Value: Sendable>(
    _ items: [Item], _ body: @escaping @Sendable (Item) -> Value
  ) -> [Value] {
    let found = try? inParallel(
      Array(items.indices), workers: Self.requestsAtOnce, portion: 1, context: {}
    ) { number, _ in (number, body(items[number])) }
    // No thread was available.
    guard let found else { return items.map(body) }
    return found.sorted { $0.0 < $1.0 }.map(\.1)
  }
}

extension Product {
  /// Creates the product of `record`, with the newest version of each content.
  fileprivate init(_ record: CatalogRecord) {
    self.init(
      record.description, contents: record.newestOffers,
      withdrawnVersions: record.withdrawnVersions)
  }
}

/// Caches records by digest, so that a refresh fetches only changed records.
final class RecordCache: Sendable {
  private let known = Mutex<[ProductIdentifier: (digest: Digest, record: CatalogRecord)]>([:])
  /// The maximum number of records.
  private static let limit = 4096

  /// Whether the cache has the record of `product` with this digest.
  func has(_ product: ProductIdentifier, _ digest: Digest?) -> Bool {
    known.withLock { $0[product]?.digest == digest } && digest != nil
  }

  /// Returns the record with this digest, from the cache or from `fetch`.
  func record(
    of product: ProductIdentifier, _ digest: Digest?, fetch: () throws -> CatalogRecord
  ) throws -> CatalogRecord {
    guard let digest else { return try fetch() }
    if let known = known.withLock({ $0[product] }), known.digest == digest { return known.record }
    let record = try fetch()
    known.withLock { known in
      if known.count >= Self.limit { known = [:] }
      known[product] = (digest, record)
    }
    return record
  }
}

extension ContentError {
  package static func notOffered(_ product: String) -> ContentError {
    ContentError(
      .productUnknown, "The store does not offer \(product)",
      remedy: "Check the identifier, or list the products of the store", subject: product)
  }
}
