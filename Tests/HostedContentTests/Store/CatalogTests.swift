import ContentModel
import ContentPackage
import ContentStore
import ContentTrust
import Digests
import FileIO
import FoundationEssentials
import HostedContent
import Concurrency
import TestSupport
import Testing

@Suite struct CatalogTests {
  private let folder: TemporaryFolder
  private let store: StoreFolder
  private let fetcher: CountingFetcher
  private let now = Date(timeIntervalSince1970: 1_900_000_000)

  init() throws {
    folder = try TemporaryFolder()
    store = try StoreFolder.create(at: folder.path("store"), now: now)
    fetcher = CountingFetcher(try folder.opened().directory("store"))
  }

  private func catalog() throws -> Catalog {
    let trust = try folder.opened().createDirectory("trust")
    let client = TrustClient(trustFolder: trust, fetcher: fetcher, now: { [now] in now })
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
    let record = try folder.opened().directory(at: ["store", "targets", "b"])
    let name = try #require(
      try record.entries().map(\.name).first { $0.hasSuffix(".product.json") })
    var bytes = try record.contents(of: name, limit: 1 << 20)
    bytes[bytes.count / 2] ^= 1
    try record.replaceFile(name, with: bytes)
    let snapshot = try catalog().refresh()
    let answer = snapshot.products(nil)
    #expect(answer.products.map(\.productIdentifier.rawValue) == ["a", "c"])
    #expect(answer.failures.map(\.code) == [.digestMismatch])
    #expect(answer.failures.map(\.subject) == ["b/product.json"])
    #expect(snapshot.offers(of: ProductIdentifier("b")).count == 1)
  }

  @Test func `records are fetched once, and again only when they changed`() throws {
    try publish("a", "1")
    try publish("b", "1")
    let catalog = try catalog()
    _ = try catalog.refresh().products(nil)
    #expect(fetcher.takeCount(of: ".product.json") == 2)
    _ = try catalog.refresh().products(nil)
    #expect(fetcher.takeCount(of: ".product.json") == 0)
    try publish("b", "2", ProductDetails(title: "New"))
    #expect(try catalog.refresh().products(nil).products.last?.localizedTitle() == "New")
    #expect(fetcher.takeCount(of: ".product.json") == 1)
  }

  @Test func `contents of products are known without their records, unless they have no content`()
    throws
  {
    try publish("a", "1")
    try publish("a", "2")
    try publish("b", "1")
    let club = ProductIdentifier("club")
    try store.add(
      club, details: ProductDetails(title: "Club", type: .consumable), now: now)
    let snapshot = try catalog().refresh()
    let answer = snapshot.contents(of: nil)
    #expect(answer.products.map(\.productIdentifier.rawValue) == ["a", "b", "club"])
    #expect(answer.products.map(\.type) == [nil, nil, .consumable])
    #expect(answer.products.map { $0.contents.map(\.version.rawValue) } == [["2"], ["1"], []])
    #expect(fetcher.takeCount(of: ".product.json") == 1)
    let some = snapshot.contents(of: [ProductIdentifier("a"), ProductIdentifier("none")])
    #expect(some.products == answer.products.filter { $0.productIdentifier.rawValue == "a" })
    #expect(some.invalidProductIdentifiers == ["none"])
    #expect(fetcher.takeCount(of: ".product.json") == 0)
  }

  @Test func `the catalog of the last refresh is available without the store`() throws {
    try publish("book", "1")
    let catalog = try catalog()
    #expect(try catalog.cached() == nil)
    _ = try catalog.refresh()
    try folder.opened().removeTree("store")
    #expect(throws: ContentError.self) { try catalog.refresh() }
    #expect(try catalog.cached()?.identifiers.map(\.rawValue) == ["book"])
  }
}

/// Catalogs that our publisher does not write, as a broken or hostile one would sign them.
@Suite struct ClaimedContentTests {
  /// Returns the targets of contents, `product: [content]`, each in one version.
  private func listing(_ products: [String: [String]], at place: String? = nil) throws
    -> StoreListing
  {
    var files: [String: TargetFile] = [:]
    for (text, contents) in products {
      let product = try ProductIdentifier(validating: text)
      let empty = try Digest(of: [UInt8]())
      files[StoreTargetName.record(product)] = TargetFile(length: 0, digest: empty)
      for content in try contents.map({ try ProductIdentifier(validating: $0) }) {
        let version = ContentVersion("1")
        let custom = ContentCustom(
          productIdentifier: product, contentIdentifier: content, version: version,
          installedSize: 1)
        files[custom.index] = TargetFile(length: 0, digest: empty)
        let name = place ?? StoreTargetName.package(product, content, version)
        files[name] = TargetFile(length: 0, digest: empty, custom: custom.json)
      }
    }
    let key = try SigningKey.generate()
    let date = Date(timeIntervalSince1970: 1_900_000_000)
    let root = try RootRole(
      version: 1, expires: date,
      keys: Dictionary(uniqueKeysWithValues: RoleName.allCases.map { ($0, key.publicKey) }))
    return StoreListing(
      TrustedTargets(
        TargetsRole(version: 1, expires: date, targets: files), root: root, fetcher: NoFetcher()))
  }

  private func refused(_ listing: StoreListing) -> [String] {
    listing.products.filter { $0.value.error != nil }.map(\.key.rawValue).sorted()
  }

  @Test func `a product's own content comes first, then the others by identifier`() throws {
    let listing = try listing(["m": ["z", "m", "a"]])
    let offers = try #require(listing.products[ProductIdentifier("m")]).newestOffers
    #expect(offers.map(\.contentIdentifier.rawValue) == ["m", "a", "z"])
    #expect(refused(listing).isEmpty)
  }

  @Test func `a product that claims the content of another is refused, and others are not`()
    throws
  {
    #expect(try refused(listing(["a": ["a"], "b": ["a", "b"], "c": ["c"]])) == ["b"])
    #expect(try refused(listing(["a": [], "b": ["a"], "c": []])) == ["b"])
    let error = try listing(["a": ["a"], "b": ["a"]]).products[ProductIdentifier("b")]?.error
    #expect(error?.code == .contentClaimed)
    #expect(error?.subject == "b")
  }

  @Test func `a content that two products of other names claim belongs to neither`() throws {
    #expect(try refused(listing(["a": ["a", "x"], "b": ["x"], "c": ["c", "y"]])) == ["a", "b"])
  }

  @Test(arguments: ["a/1/content.pkg", "a/1/b.audio/content.pkg", "a/2/a.audio/content.pkg"])
  func `a content whose path does not match its name is refused`(place: String) throws {
    #expect(try refused(listing(["a": ["a.audio"]], at: place)) == ["a"])
  }

  @Test func `a content with the name of a file of the store is refused`() throws {
    #expect(try refused(listing(["a": ["a", "x.content.pkg"], "b": ["b"]])) == ["a"])
  }
}

/// Nothing is fetched for a listing.
private struct NoFetcher: MetadataFetcher {
  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? { nil }
}

/// A store in a folder that counts fetches.
private final class CountingFetcher: MetadataFetcher {
  private let fetcher: FolderFetcher
  private let paths = Mutex<[String]>([])

  init(_ folder: Directory) { fetcher = FolderFetcher(folder) }

  func fetch(_ path: String, limit: Int64) throws -> [UInt8]? {
    paths.withLock { $0.append(path) }
    return try fetcher.fetch(path, limit: limit)
  }

  /// Returns how many paths with `suffix` were fetched since the last call.
  func takeCount(of suffix: String) -> Int {
    paths.withLock { paths in
      defer { paths = [] }
      return paths.count { $0.hasSuffix(suffix) }
    }
  }
}
