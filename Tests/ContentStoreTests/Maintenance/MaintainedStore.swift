import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import Testing

/// A store with publications on different days, for tests of its maintenance.
struct MaintainedStore {
  let fixture: PublisherFixture
  let store: StoreFolder

  init(_ keys: StoreKeyOptions = StoreKeyOptions()) throws {
    fixture = try PublisherFixture()
    store = try fixture.create(keys)
  }

  /// The time `day` days after the store was created.
  func at(_ day: Double) -> Date { fixture.now.addingTimeInterval(day * 86_400) }

  // MARK: Publications

  /// Publishes a product without content, or a new title.
  func add(_ product: String, _ title: String? = nil, day: Double) throws {
    try store.add(
      ProductIdentifier(validating: product), details: ProductDetails(title: title), now: at(day))
  }

  /// Publishes `count` products without content in one step: `product-0` and so on.
  ///
  /// More than 128 are in bins.
  func addProducts(_ count: Int, day: Double) throws {
    let products = try (0..<count).map { try ProductIdentifier(validating: "product-\($0)") }
    try store.add(
      Dictionary(uniqueKeysWithValues: products.map { ($0, ProductDetails()) }), now: at(day))
  }

  func publish(_ product: String, _ version: String, day: Double) throws {
    try store.publish([fixture.package(product, version)], now: at(day))
  }

  /// Publishes a content of `product` with a name of its own.
  func publish(content: String, of product: String, _ version: String, day: Double) throws {
    try store.publish([fixture.package(product, version, content: content)], now: at(day))
  }

  func retire(_ product: String, _ version: String, day: Double) throws {
    try store.retire(
      ProductIdentifier(validating: product), version: ContentVersion(validating: version),
      now: at(day))
  }

  // MARK: Files

  /// The store's folder.
  var folder: Directory { get throws { try FileSystem.real.directory(at: fixture.storePath) } }

  /// Publishes versions 1 and 2 of a book, retires version 1, and changes the title, on days 1, 2,
  /// 3 and 20.
  ///
  /// Returns clients that look at the store for the last time on days 4 and 21.
  @discardableResult
  func publishHistory() throws -> (early: TrustedMetadata, late: TrustedMetadata) {
    try publish("book", "1", day: 1)
    try publish("book", "2", day: 2)
    try retire("book", "1", day: 3)
    let early = try client(day: 4)
    try add("book", "New title", day: 20)
    return (early, try client(day: 21))
  }

  /// Every file below the store, by path.
  func files() throws -> Set<String> {
    func files(in directory: Directory, _ prefix: String) throws -> Set<String> {
      try directory.entries().reduce(into: []) { found, entry in
        if entry.kind == .directory {
          found.formUnion(
            try files(in: directory.directory(entry.name), "\(prefix)\(entry.name)/"))
        } else {
          found.insert(prefix + entry.name)
        }
      }
    }
    return try files(in: folder, "")
  }

  /// The bytes of the file at `path` below the store.
  func bytes(at path: String) throws -> [UInt8] {
    try parent(of: path).contents(of: path.lastPathComponent, limit: 1 << 30)
  }

  /// The folder of the file at `path` below the store.
  func parent(of path: String) throws -> Directory {
    try folder.directory(at: path.pathComponents().dropLast())
  }

  /// Removes the file at `path` below the store.
  func removeFile(at path: String) throws {
    try parent(of: path).removeFile(path.lastPathComponent)
  }

  /// Changes one byte of the file at `path` below the store.
  func damageFile(at path: String) throws {
    var bytes = try bytes(at: path)
    bytes[bytes.count / 2] ^= 1
    try parent(of: path).replaceFile(path.lastPathComponent, with: bytes)
  }

  // MARK: Clients

  /// What a client knows after it has read the top-level metadata on `day`.
  func client(day: Double) throws -> TrustedMetadata {
    var client = try TrustedMetadata(root: store.initialRoot())
    let names = try fixture.names("store/metadata")
    while names.contains("\(client.root.version + 1).root.json") {
      try client.update(root: fixture.bytes("\(client.root.version + 1).root.json"))
    }
    _ = try client.update(timestamp: fixture.bytes("timestamp.json"), now: at(day))
    let snapshot = try #require(client.timestamp).snapshot.version
    try client.update(snapshot: fixture.bytes("\(snapshot).snapshot.json"), now: at(day))
    let targets = try #require(client.snapshot).targets.version
    try client.update(targets: fixture.bytes("\(targets).targets.json"), now: at(day))
    return client
  }

  /// The catalog that `client` sees, whose bins and records are read from the store now.
  func catalog(_ client: TrustedMetadata) throws -> TrustedTargets {
    let targets = try #require(client.targets)
    return TrustedTargets(targets, of: client, fetcher: FolderFetcher(try folder))
  }

  /// The list of the catalog that `client` sees which has the entry of `product`.
  func list(of product: String, _ client: TrustedMetadata) throws -> CatalogList {
    let catalog = try catalog(client)
    return try catalog.list(catalog.listName(for: ProductIdentifier(validating: product)))
  }

  /// The paths of the list of `product`, of its records file, and of the product's record, in the
  /// catalog of `day`.
  func paths(of product: String, day: Double) throws -> (
    list: String, records: String, record: String
  ) {
    let client = try client(day: day)
    let list = try list(of: product, client)
    let name = "\(product)/product.json"
    let details = try #require(list.role.details)
    let file = try #require(list.role.targets[name])
    return (
      list: list.name.path(version: list.role.version), records: RecordsFile.path(details.digest),
      record: try catalog(client).path(of: name, file)
    )
  }

  /// Fetches and verifies every file of the catalog that `client` sees, and returns their paths.
  ///
  /// The client may have read only the timestamp, so snapshot and targets are also fetched.
  @discardableResult
  func fetchAll(_ client: TrustedMetadata) throws -> Set<String> {
    let catalog = try catalog(client)
    var paths: Set = [
      MetadataName.snapshot.path(version: try #require(client.snapshot).version),
      MetadataName.targets.path(version: catalog.version),
    ]
    for path in paths { _ = try bytes(at: path) }
    for name in try catalog.lists {
      let list = try catalog.list(name)
      if name != .targets { paths.insert(name.path(version: list.role.version)) }
      paths.formUnion(try fetchFiles(of: list, in: catalog))
    }
    return paths
  }

  private func fetchFiles(of list: CatalogList, in catalog: TrustedTargets) throws -> Set<String> {
    var paths: Set<String> = []
    if let details = list.role.details, details.length > 0 {
      _ = try catalog.records(of: list)
      paths.insert(RecordsFile.path(details.digest))
    }
    for (name, file) in list.role.targets {
      _ = try catalog.fetchEntry(name, file)
      paths.insert(catalog.path(of: name, file))
    }
    for product in list.products.keys {
      for offer in try #require(try catalog.record(of: product)).offers {
        for file in [offer.package, offer.index] {
          try TargetFile(length: file.length, digest: file.digest)
            .check(bytes(at: file.path), of: file.path)
          paths.insert(file.path)
        }
      }
    }
    return paths
  }

  /// The paths of all files that `clients` may need, with timestamp and roots.
  func needed(by clients: TrustedMetadata...) throws -> Set<String> {
    let always = try files().filter {
      $0.hasSuffix(".root.json") || $0 == "metadata/timestamp.json"
    }
    return try clients.reduce(into: always) { $0.formUnion(try fetchAll($1)) }
  }
}
