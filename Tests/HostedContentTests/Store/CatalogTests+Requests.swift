import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// The requests that a client sends for a catalog with hash bins.
extension CatalogTests {
  /// Publishes products without content, and returns their identifiers.
  private func publish(_ count: Int) throws -> [ProductIdentifier] {
    let products = try (1...count).map { try ProductIdentifier(validating: "p\($0)") }
    let details = Dictionary(uniqueKeysWithValues: products.map { ($0, ProductDetails()) })
    try store.add(details, now: now)
    return products
  }

  /// The kinds of files that were fetched since the last call, with their numbers.
  private func takeKinds() -> [String: Int] {
    fetcher.takePaths().reduce(into: [:]) { $0[Self.kind(of: $1), default: 0] += 1 }
  }

  private static func kind(of path: String) -> String {
    if path.contains(".bin-") { return "bin" }
    if path.hasSuffix(".records.jsonl") { return "records" }
    return path.hasSuffix(".product.json") ? "record" : path.lastPathComponent
  }

  /// The kinds of the files of a refresh without news.
  private var usual: [String: Int] { ["2.root.json": 1, "timestamp.json": 1] }

  // MARK: Lists

  @Test("1,000 products need at most 20 requests", .slow)
  func thousandProducts() throws {
    let products = try publish(1_000)
    let some = try catalog("some").refresh().products(Set(products))
    #expect(some.products.map(\.productIdentifier) == products.sorted())
    #expect(some.failures.isEmpty && some.invalidProductIdentifiers.isEmpty)
    let count = fetcher.takePaths().count
    #expect(count > 4 && count <= 20, "\(count)")

    let all = try catalog("all").refresh().products(nil)
    #expect(all.products == some.products)
    #expect(all.failures.isEmpty)
    let allCount = fetcher.takePaths().count
    #expect(allCount > 4 && allCount <= 20, "\(allCount)")
  }

  @Test("A page of products reads only the lists that it needs", .slow)
  func pages() throws {
    let products = try publish(1_000)
    let snapshot = try catalog().refresh()
    _ = takeKinds()
    let first = try snapshot.page(after: nil, limit: 100)
    #expect(takeKinds() == ["bin": 1, "records": 1])
    #expect(first.products.count == 100)
    var (found, position) = (first.products, first.next)
    while let place = position {
      let page = try snapshot.page(after: place, limit: 100)
      #expect(page.failures.isEmpty)
      found += page.products
      position = page.next
    }
    #expect(found.map(\.productIdentifier).sorted() == products.sorted())
    #expect(try snapshot.page(after: "unknown", limit: 2_000).products.count < 1_000)
  }

  @Test("No product is left out if the number of lists changes between two pages", .slow)
  func pagesOfGrowingStore() throws {
    let products = try publish(300)
    let early = try catalog().refresh().page(after: nil, limit: 150)
    let others = try (1...1_600).map { try ProductIdentifier(validating: "other\($0)") }
    try store.add(
      Dictionary(uniqueKeysWithValues: others.map { ($0, ProductDetails()) }), now: now)
    let late = try catalog().refresh().page(after: early.next, limit: 3_000)
    let found = (early.products + late.products).map(\.productIdentifier)
    #expect(Set(found).isSuperset(of: products) && Set(found).count == found.count)
    #expect(early.next != nil && late.next == nil)
  }

  @Test("The file of all records is read for 8 or more products of a list")
  func recordsFile() throws {
    let products = try publish(20)
    let seven = try catalog("seven").refresh()
    _ = takeKinds()
    #expect(seven.products(Set(products.prefix(7))).products.count == 7)
    #expect(takeKinds() == ["record": 7])

    let eight = try catalog("eight").refresh()
    _ = takeKinds()
    #expect(eight.products(Set(products.prefix(8))).products.count == 8)
    #expect(takeKinds() == ["records": 1])
    // Known records do not count.
    #expect(eight.products(Set(products.prefix(15))).products.count == 15)
    #expect(takeKinds() == ["record": 7])
    #expect(eight.products(Set(products)).products.count == 20)
    #expect(takeKinds() == ["record": 5])
  }

  // MARK: One product

  @Test("One product needs one bin and one record, and then nothing")
  func oneProduct() throws {
    let products = try publish(160)
    let catalog = try catalog()
    let snapshot = try catalog.refresh()
    var kinds = takeKinds()
    #expect(kinds["bin"] == nil && kinds["record"] == nil && kinds["records"] == nil, "\(kinds)")
    #expect(try snapshot.product(products[7]).productIdentifier == products[7])
    #expect(takeKinds() == ["bin": 1, "record": 1])
    #expect(try snapshot.product(products[7]).productIdentifier == products[7])
    #expect(takeKinds().isEmpty)

    // A product that does not exist needs its bin, unless that is known.
    #expect(throws: ContentError.self) { try snapshot.product("unknown") }
    kinds = takeKinds()
    #expect(kinds.isEmpty || kinds == ["bin": 1])
    #expect(throws: ContentError.self) { try catalog.refresh().product("unknown") }
    #expect(takeKinds() == usual)
  }

  @Test("A refresh without news makes two requests, and a change one bin and one record")
  func news() throws {
    let products = try publish(160)
    let catalog = try catalog()
    _ = try catalog.refresh().product(products[0])
    _ = takeKinds()
    #expect(try catalog.refresh().product(products[0]).localizedTitle() == "p1")
    #expect(takeKinds() == usual)

    try store.add(products[0], details: ProductDetails(title: "New"), now: now)
    #expect(try catalog.refresh().product(products[0]).localizedTitle() == "New")
    let kinds = takeKinds()
    #expect(kinds["bin"] == 1 && kinds["record"] == 1, "\(kinds)")
    // The new snapshot, and nothing else.
    #expect(kinds.values.reduce(0, +) == 5, "\(kinds)")
    #expect(kinds.keys.contains { $0.hasSuffix("snapshot.json") })
  }

  @Test("A second process fetches no bin and no record again if nothing changed")
  func secondProcess() throws {
    let products = try publish(160)
    let first = try catalog().refresh()
    for product in products.prefix(20) { _ = try first.product(product) }
    _ = takeKinds()
    let second = try catalog().refresh()
    for product in products.prefix(20) {
      #expect(try second.product(product) == first.product(product))
    }
    #expect(takeKinds() == usual)
    let third = try catalog().refresh()
    _ = takeKinds()
    #expect(third.products(Set(products.prefix(20))).products.count == 20)
    #expect(takeKinds().isEmpty)
  }

  // MARK: Without the store

  @Test("Without the store, the catalog has the products that were looked up before")
  func cached() throws {
    let products = try publish(160)
    let looked = try catalog().refresh().product(products[0])
    // As in a new process.
    let catalog = try catalog()
    try folder.opened().removeTree("store")
    _ = fetcher.takePaths()
    let snapshot = try #require(try catalog.cached())
    #expect(try snapshot.product(products[0]) == looked)
    let answer = snapshot.products(Set(products))
    #expect(answer.products == [looked])
    #expect(answer.failures.count + answer.invalidProductIdentifiers.count == 159)
    #expect(answer.failures.allSatisfy { $0.code == .storeMissing })
    #expect(fetcher.takePaths().isEmpty)
  }

  // MARK: Threads

  @Test("Several products of one bin can be looked up at once", .slow)
  func severalOfOneBin() throws {
    let products = try publish(160)
    let bins = HashBins(
      bits: 2, keys: RoleKeys([], threshold: 1), prefix: "bin")
    let all = try products.filter { try bins.name(for: StorePath.entry($0)) == "bin-2" }
    let wanted = all.prefix(7)
    #expect(wanted.count == 7)
    for round in 1...30 {
      let answer = try catalog("round-\(round)").refresh().products(Set(wanted))
      #expect(answer.failures.isEmpty, "\(answer.failures)")
      #expect(answer.products.map(\.productIdentifier) == wanted.sorted())
    }
  }

  @Test("A client that cannot write its trust folder reads the same products")
  func readOnly() throws {
    let products = try publish(160)
    let expected = try catalog().refresh().products(nil).products
    let found = try catalog("empty", isReadOnly: true).refresh()
    #expect(found.products(nil).products == expected)
    #expect(found.products(Set(products)).products == expected)
    #expect(try folder.opened().directory("empty").entries().isEmpty)
  }
}
