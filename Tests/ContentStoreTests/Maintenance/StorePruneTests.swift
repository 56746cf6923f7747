import HostedConcurrency
import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedTestSupport
import HostedTestTraits
import Testing

/// Removing what no catalog of the last days refers to.
@Suite("Pruning a store", .long)
struct StorePruneTests {
  private let shop: MaintainedStore

  init() throws { shop = try MaintainedStore() }

  /// Publishes catalogs 2 to 6; see `MaintainedStore.publishHistory`.
  @discardableResult
  private func publishHistory() throws -> (early: TrustedMetadata, late: TrustedMetadata) {
    let clients = try shop.publishHistory()
    try shop.add("club", day: 40)
    return clients
  }

  @Test("A client of a catalog of the last days finds everything after pruning")
  func clients() throws {
    let (client, later) = try publishHistory()
    let before = try shop.files()
    let needed = try shop.needed(by: client, later, shop.client(day: 45))

    let pruned = try shop.store.prune(keepDays: 30, now: shop.at(45))
    let removed = Set(pruned.files.map(\.path))
    #expect(removed == before.subtracting(needed))
    #expect(pruned.unknown.isEmpty && pruned.obstacle == nil)
    for version in 1...3 {
      let names = ["snapshot", "targets"].map { "metadata/\(version).\($0).json" }
      #expect(removed.isSuperset(of: names))
    }
    // Of version 1: the archive and the index.
    #expect(removed.filter { $0.hasPrefix("targets/book/1/") }.count == 2)
    // Of the first two publications: the records.
    #expect(removed.filter { $0.hasSuffix(".records.jsonl") }.count == 2)
    #expect(removed.filter { $0.hasSuffix(".product.json") }.count == 2)
    #expect(try shop.files() == needed)
    #expect(try shop.store.prune(keepDays: 30, now: shop.at(45)).files.isEmpty)

    // Later, the first client's catalog is too old.
    try shop.store.prune(keepDays: 30, now: shop.at(60))
    #expect(throws: ContentError.self) { try shop.fetchAll(client) }
    try shop.fetchAll(later)
  }

  @Test("A dry run returns what pruning removes, with its length, and changes nothing")
  func dryRun() throws {
    try publishHistory()
    let before = try shop.files()
    let planned = try shop.store.prunableFiles(keepDays: 30, now: shop.at(45))
    #expect(try shop.files() == before)
    #expect(planned.bytes > 0)
    #expect(planned.bytes == planned.files.reduce(0) { $0 + $1.bytes })
    #expect(try shop.store.prune(keepDays: 30, now: shop.at(45)) == planned)
  }

  @Test("Pruning removes folders only if they become empty")
  func folders() throws {
    for version in ["1", "2"] { try shop.publish("book", version, day: 1) }
    try shop.publish("other", "1", day: 1)
    for product in ["book", "other"] { try shop.retire(product, "1", day: 2) }
    let targets = try FileSystem.real.directory(at: "\(shop.fixture.storePath)/targets")
    try targets.directory(at: ["other", "1"]).replaceFile("notes.txt", with: [1])
    let pruned = try shop.store.prune(now: shop.at(40))
    #expect(pruned.unknown == ["targets/other/1/notes.txt"])
    #expect(try targets.directory("book").entries().count == 2)
    #expect(try targets.directory("book").status(of: "1") == nil)
    #expect(try targets.directory(at: ["other", "1"]).entries().map(\.name) == ["notes.txt"])
    #expect(try shop.store.products().map(\.versions.count) == [1, 0])
  }

  @Test("The catalog before an interrupted publication is kept as long as it was current")
  func interrupted() throws {
    try shop.add("a", day: 1)  // catalog 2
    let other = try shop.fixture.open(fileSystem: .failing(.rename, at: "/timestamp.json"))
    #expect(throws: ContentError.self) {
      try other.add("b", now: shop.at(2))  // snapshot 3, never current
    }
    let client = try shop.client(day: 39)
    try shop.add("c", day: 40)  // catalog 4
    try shop.store.prune(keepDays: 30, now: shop.at(60))
    #expect(try shop.fixture.names("store/metadata").isSuperset(of: ["2.snapshot.json"]))
    #expect(try shop.fixture.names("store/metadata").isDisjoint(with: ["1.snapshot.json"]))
    try shop.fetchAll(client)
    try shop.store.prune(keepDays: 30, now: shop.at(80))
    #expect(try shop.files() == shop.needed(by: shop.client(day: 80)))
    #expect(try shop.fixture.names("store/metadata").contains("4.snapshot.json"))
  }

  @Test("Foreign and unknown files among the metadata are listed, and stay")
  func foreign() throws {
    try publishHistory()
    let forged = try shop.fixture.forged(
      2, over: shop.store.initialRoot(), rootVersion: 1)
    let snapshot = try #require(forged["2.snapshot.json"])
    let targets = try #require(forged["2.targets.json"])
    try shop.fixture.put([
      "2.snapshot.json": snapshot, "1.targets.json": targets, "notes.txt": [1],
      "1.mirrors.json": [2],
    ])
    let unknown = [
      "metadata/1.mirrors.json", "metadata/1.targets.json", "metadata/2.snapshot.json",
      "metadata/notes.txt",
    ]
    let pruned = try shop.store.prune(keepDays: 10, now: shop.at(80))
    #expect(pruned.unknown == unknown)
    #expect(try shop.files().isSuperset(of: unknown))
    try shop.fetchAll(shop.client(day: 80))
  }

  @Test("If metadata of a kept catalog is missing, its other files are unknown, and all stay")
  func missingMetadata() throws {
    try publishHistory()
    try shop.fixture.metadata.removeFile("5.targets.json")
    let pruned = try shop.store.prune(keepDays: 30, now: shop.at(45))
    #expect(pruned.obstacle?.contains("5.targets.json") == true)
    #expect(!pruned.files.isEmpty)
    #expect(
      pruned.files.allSatisfy {
        $0.path.hasPrefix("metadata/") && !$0.path.hasSuffix(".records.jsonl")
      })
    let later = try shop.store.prune(keepDays: 30, now: shop.at(80))
    #expect(later.obstacle == nil)
    #expect(later.files.contains { $0.path.hasPrefix("targets/book/1/") })
    #expect(try shop.files() == shop.needed(by: shop.client(day: 80)))
  }

  @Test("A store is not pruned during a publication, and not if it is older than the record")
  func refused() throws {
    try publishHistory()
    let old = try shop.fixture.bytes("timestamp.json")
    let codes = Mutex<[ContentError.Code?]>([])
    let shop = shop
    let watched = FileSystem { operation, path in
      guard operation == .rename, path.hasSuffix(".targets.json") else { return }
      let found = code { try shop.store.prune(now: shop.at(80)) }
      codes.withLock { $0.append(found) }
    }
    try shop.fixture.open(fileSystem: watched).add("d", now: shop.at(50))
    #expect(codes.withLock { $0 } == [.storeLocked])
    try shop.fixture.put(["timestamp.json": old])
    let before = try shop.files()
    #expect(code { try shop.store.prune(now: shop.at(80)) } == .storeRolledBack)
    #expect(code { _ = try shop.store.prunableFiles(now: shop.at(80)) } == .storeRolledBack)
    for days in [0, -1, 36_501] { #expect(code { try shop.store.prune(keepDays: days) } == .usage) }
    #expect(try shop.files() == before)
  }

  @Test("Pruning needs the publication record, but no key")
  func keys() throws {
    try publishHistory()
    let keys = try FileSystem.real.directory(at: shop.fixture.folder.path("store.keys"))
    for name in try keys.entries().map(\.name) where name.hasSuffix(".pem") {
      try keys.removeFile(name)
    }
    #expect(try !shop.store.prune(now: shop.at(45)).files.isEmpty)
    try keys.removeFile("published.json")
    try keys.directory("root").removeFile("root.pem")
    #expect(code { try shop.store.prune(now: shop.at(80)) } == .keyUnusable)
    #expect(try !shop.store.prunableFiles(now: shop.at(80)).files.isEmpty)
  }

  @Test("In a folder that is read-only, pruning fails with its path and removes nothing")
  func readOnly() throws {
    try publishHistory()
    let before = try shop.files()
    let readOnly = FileSystem { operation, path in
      if operation == .remove, path.contains("/store/"), !path.hasSuffix(".new") {
        throw SystemFailure(EACCES)
      }
    }
    let store = try shop.fixture.open(fileSystem: readOnly)
    let error = #expect(throws: ContentError.self) { try store.prune(now: shop.at(45)) }
    #expect(error?.code == .notPermitted)
    #expect(error?.subject?.contains("/store/metadata/") == true)
    #expect(try shop.files() == before)
  }

  @Test(
    "After a failure at any step, clients find everything, and the next call removes the rest",
    .slow)
  func failures() throws {
    var step = 0
    var fired = true
    while fired {
      step += 1
      let shop = try MaintainedStore()
      try shop.publish("book", "1", day: 1)
      try shop.retire("book", "1", day: 2)
      try shop.publish("book", "2", day: 3)
      let fault = FaultPlan(failing: step)
      let failure = code {
        try shop.fixture.open(fileSystem: fault.fileSystem).prune(now: shop.at(60))
      }
      fired = fault.hasFired
      #expect(fired || failure == nil)
      try shop.fetchAll(shop.client(day: 60))
      try shop.add("club", day: 60)
      try shop.store.prune(keepDays: 1, now: shop.at(120))
      #expect(try shop.files() == shop.needed(by: shop.client(day: 60)))
      #expect(try !shop.files().contains { $0.hasPrefix("targets/book/1/") })
    }
    #expect(step > 40)
  }

  @Test("After pruning, publishing, rotating and repairing work as before")
  func later() throws {
    try publishHistory()
    try shop.store.rotate([.targets, .snapshot, .timestamp], now: shop.at(45))  // catalog 7
    try shop.add("d", day: 46)  // 8
    // Catalogs under the earlier root are known as the store's.
    let pruned = try shop.store.prune(keepDays: 10, now: shop.at(80))
    #expect(pruned.unknown.isEmpty)
    #expect(try shop.files() == shop.needed(by: shop.client(day: 80)))
    let roots = try shop.files().filter { $0.hasSuffix(".root.json") }
    #expect(roots == ["metadata/1.root.json", "metadata/2.root.json"])
    try shop.add("e", day: 81)
    try shop.fixture.metadata.removeFile("timestamp.json")
    #expect(try StoreFolder.repair(at: shop.fixture.storePath, now: shop.at(82)) == 9)
    try shop.add("f", day: 83)
    #expect(
      try shop.fixture.products(trusting: shop.store.initialRoot())
        == ["book", "club", "d", "e", "f"])
  }

  @Test("The metadata of a pruned store is less than three times its newest catalog", .slow)
  func size() throws {
    let products = SlowTests.areComplete ? 1_000 : 200
    let publications = SlowTests.count(280, all: 10_000)
    print("publications: \(publications) of \(products) products")
    try shop.addProducts(products, day: 0.5)
    for number in 0..<publications {
      let day = 1 + Double(number) / 10
      // A refresh signs every bin, and a new title needs a new records file.
      if number.isMultiple(of: 2) {
        try shop.store.refresh(everything: true, now: shop.at(day))
      } else {
        try shop.add("product-\(number % products)", "Title \(number)", day: day)
      }
      // Like a weekly job.
      if number % 70 == 69 { try shop.store.prune(keepDays: 1, now: shop.at(day)) }
    }
    let end = 1 + Double(publications) / 10 + 2
    try shop.store.prune(keepDays: 1, now: shop.at(end))
    let client = try shop.client(day: end)
    let catalog = try shop.catalog(client)
    #expect(try catalog.lists.count == (products > 128 ? 4 : 1))
    #expect(try catalog.lists.reduce(0) { try $0 + catalog.list($1).products.count } == products)
    func bytes(_ paths: Set<String>) throws -> Int {
      try paths.filter { $0.hasPrefix("metadata/") }.reduce(0) { try $0 + shop.bytes(at: $1).count }
    }
    #expect(try bytes(shop.files()) < 3 * bytes(shop.needed(by: client)))
  }
}
