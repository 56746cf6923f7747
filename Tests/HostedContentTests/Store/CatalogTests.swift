import HostedModel
import HostedPackage
import ContentStore
import HostedTrust
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(.timeLimit(.hang)) struct CatalogTests {
  let folder: TemporaryFolder
  let store: StoreFolder
  let fetcher: CountingFetcher
  let now = Date(timeIntervalSince1970: 1_900_000_000)

  init() throws {
    folder = try TemporaryFolder()
    store = try StoreFolder.create(at: folder.path("store"), now: now)
    fetcher = CountingFetcher(try folder.opened().directory("store"))
  }

  /// Returns a catalog with the trust folder `trust`, as a new process creates it.
  func catalog(_ trust: String = "trust", isReadOnly: Bool = false) throws -> Catalog {
    let client = TrustClient(
      trustFolder: try folder.opened().createDirectory(trust), isReadOnly: isReadOnly,
      fetcher: fetcher, now: { [now] in now })
    return Catalog(client: client, trustedRoot: try store.initialRoot())
  }

  private func publish(_ product: String, _ version: String, _ details: ProductDetails = .init())
    throws
  {
    let name = "\(product)-\(version)"
    let source = try folder.opened().createDirectory(name, exclusive: true)
    try source.createDirectory("Contents").replaceFile("page.txt", with: Array(name.utf8))
    _ = try buildPackage(
      folder: source, output: folder.opened(), outputName: "\(name).pkg",
      productIdentifier: ProductIdentifier(validating: product),
      version: ContentVersion(validating: version))
    try store.publish([folder.path("\(name).pkg")], details: details, now: now)
  }

  @Test func `a product has its texts, its price and the newest version of its content`() throws {
    let details = ProductDetails(title: "A Book", price: 2.99, currency: "EUR")
    try publish("book", "1.9", details)
    try publish("book", "1.10")
    let answer = try catalog().refresh().products([ProductIdentifier("book")])
    let product = try #require(answer.products.first)
    #expect(product.localizedTitle() == "A Book")
    #expect(product.price == Price(2.99, currency: "EUR"))
    #expect(product.downloadContentVersion?.rawValue == "1.10")
    #expect(product.contents.count == 1)
    let offer = try #require(product.contents.first)
    #expect(offer.contentIdentifier.rawValue == "book")
    #expect(
      offer.package.path == "targets/book/1.10/\(offer.package.digest.hex).content.pkg")
    #expect(offer.index.path == "targets/book/1.10/\(offer.index.digest.hex).content.index")
    let bytes = try fetcher.fetch(offer.package.path, limit: offer.package.length)
    #expect(bytes?.count == Int(offer.package.length))
  }

  @Test func `every version is offered, newest first`() throws {
    for version in ["2", "9.5", "10"] { try publish("book", version) }
    let offers = try catalog().refresh().offers(of: ProductIdentifier("book"))
    #expect(offers.map(\.version.rawValue) == ["10", "9.5", "2"])
  }

  @Test func `an identifier that the store does not offer is invalid`() throws {
    try publish("book", "1")
    let wanted = try Set(["none", "book"].map { try ProductIdentifier(validating: $0) })
    let answer = try catalog().refresh().products(wanted)
    #expect(answer.invalidProductIdentifiers == ["none"])
    #expect(answer.products.map(\.productIdentifier.rawValue) == ["book"])
    #expect(answer.failures.isEmpty)
  }

  @Test func `a product without content has nothing to download`() throws {
    try store.add(
      ProductIdentifier("coins"), details: ProductDetails(title: "Coins", type: .consumable),
      now: now)
    let product = try #require(try catalog().refresh().products(nil).products.first)
    #expect(!product.isDownloadable)
    #expect(product.type == .consumable)
  }

  @Test func `a damaged record affects only its product`() throws {
    for product in ["a", "b", "c"] { try publish(product, "1") }
    let wanted: Set<ProductIdentifier> = ["a", "b", "c"]
    try damage(".product.json", in: ["store", "targets", "b"])
    let snapshot = try catalog().refresh()
    let some = snapshot.products(wanted)
    #expect(some.products.map(\.productIdentifier.rawValue) == ["a", "c"])
    #expect(some.failures.map(\.code) == [.digestMismatch])
    #expect(some.failures.map(\.subject) == ["b"])
    let error = #expect(throws: ContentError.self) { try snapshot.offers(of: "b") }
    #expect(error?.code == .digestMismatch)
    #expect(try snapshot.offers(of: "a").count == 1)
    // A list of all products reads the records from one file, if several are not known yet.
    let all = try catalog("other").refresh().products(nil)
    #expect(all.products.map(\.productIdentifier) == wanted.sorted())
    #expect(all.failures.isEmpty)
    try damage(".records.jsonl", in: ["store", "metadata"])
    let rest = try catalog("third").refresh().products(nil)
    #expect(rest.products.map(\.productIdentifier.rawValue) == ["a", "c"])
    #expect(rest.failures.map(\.subject) == ["b"])
  }

  /// Changes a byte of the files in a folder whose names end in `suffix`.
  private func damage(_ suffix: String, in path: [String]) throws {
    let folder = try folder.opened().directory(at: path)
    let names = try folder.entries().map(\.name).filter { $0.hasSuffix(suffix) }
    #expect(!names.isEmpty)
    for name in names {
      var bytes = try folder.contents(of: name, limit: 1 << 20)
      if !bytes.isEmpty { bytes[bytes.count / 2] ^= 1 }
      try folder.replaceFile(name, with: bytes)
    }
  }

  @Test func `records are fetched once, and again only when they changed`() throws {
    try publish("a", "1")
    try publish("b", "1")
    let catalog = try catalog()
    let wanted: Set<ProductIdentifier> = ["a", "b"]
    _ = try catalog.refresh().products(wanted)
    #expect(fetcher.takeCount(of: ".product.json") == 2)
    _ = try catalog.refresh().products(wanted)
    #expect(fetcher.takeCount(of: ".product.json") == 0)
    try publish("b", "2", ProductDetails(title: "New"))
    #expect(try catalog.refresh().products(wanted).products.last?.localizedTitle() == "New")
    #expect(fetcher.takeCount(of: ".product.json") == 1)
  }

  @Test func `a list of all products reads one file of records`() throws {
    for product in ["a", "b", "c"] { try publish(product, "1") }
    let answer = try catalog().refresh().products(nil)
    #expect(answer.products.map(\.productIdentifier.rawValue) == ["a", "b", "c"])
    let paths = fetcher.takePaths()
    #expect(paths.count { $0.hasSuffix(".records.jsonl") } == 1)
    #expect(paths.count { $0.hasSuffix(".product.json") } == 0)
  }

  @Test func `the catalog of the last refresh is available without the store`() throws {
    try publish("book", "1")
    try publish("film", "1")
    let catalog = try catalog()
    #expect(try catalog.cached() == nil)
    let product = try catalog.refresh().product("book")
    try folder.opened().removeTree("store")
    #expect(throws: ContentError.self) { try catalog.refresh() }
    #expect(try catalog.cached()?.product("book") == product)
    // The record of the other product was not fetched.
    let error = #expect(throws: ContentError.self) { try catalog.cached()?.product("film") }
    #expect(error?.code == .storeMissing)
  }

  @Test("The records of a local store are not copied into the library")
  func recordsOfLocalStore() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    _ = try await fixture.queue().deliver(Payment(productIdentifier: "a"))
    let paths = try FileManager.default.subpathsOfDirectory(atPath: fixture.libraryPath)
    #expect(paths.contains { $0.hasSuffix("timestamp.json") })
    #expect(!paths.contains { $0.hasSuffix("/records") })
  }
}
