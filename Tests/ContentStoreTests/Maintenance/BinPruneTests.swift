import HostedConcurrency
import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// Removing old files of a store whose products are in hash bins.
@Suite("Pruning a store with bins", .slow, .long)
struct BinPruneTests {
  private let shop: MaintainedStore

  init() throws {
    shop = try MaintainedStore()
    try shop.addProducts(130, day: 1)  // catalog 2, with four bins
  }

  @Test("A client of a store with bins finds everything after pruning")
  func clients() throws {
    let (client, later) = try shop.publishHistory()
    try shop.add("club", day: 40)
    let before = try shop.files()
    let needed = try shop.needed(by: client, later, shop.client(day: 45))

    let planned = try shop.store.prunableFiles(keepDays: 30, now: shop.at(45))
    let pruned = try shop.store.prune(keepDays: 30, now: shop.at(45))
    let removed = Set(pruned.files.map(\.path))
    #expect(pruned == planned && pruned.unknown.isEmpty && pruned.obstacle == nil)
    #expect(removed == before.subtracting(needed))
    let bin = try shop.fixture.bin(of: "book")
    #expect(removed.isSuperset(of: (2...4).map { "metadata/\($0).\(bin).json" }))
    #expect(removed.isSuperset(of: (1...4).map { "metadata/\($0).snapshot.json" }))
    #expect(removed.contains("metadata/1.targets.json"))
    // All catalogs with bins have the same targets metadata.
    #expect(needed.contains("metadata/2.targets.json"))
    #expect(removed.filter { $0.hasSuffix(".records.jsonl") }.count == 3)
    #expect(removed.filter { $0.hasPrefix("targets/book/1/") }.count == 2)
    for client in [client, later] { try shop.fetchAll(client) }
    #expect(try shop.files() == needed)

    // Later, the first client's catalog is too old.
    try shop.store.prune(keepDays: 30, now: shop.at(60))
    #expect(throws: ContentError.self) { try shop.fetchAll(client) }
    try shop.fetchAll(later)
  }

  @Test("Each list is read once, even if many catalogs have it")
  func reads() throws {
    for day in 2..<12 { try shop.add("club", "Title \(day)", day: Double(day)) }
    let opened = Mutex<[String: Int]>([:])
    let counting = FileSystem { operation, path in
      guard operation == .open, path.contains(".bin-") || path.hasSuffix(".records.jsonl")
      else { return }
      opened.withLock { $0[path, default: 0] += 1 }
    }
    let store = try shop.fixture.open(fileSystem: counting)
    #expect(try store.prunableFiles(keepDays: 30, now: shop.at(12)).files.isEmpty)
    let counts = opened.withLock { $0 }
    // Four bins, ten later versions of one of them, and their records files.
    #expect(counts.count == 28)
    #expect(counts.values.allSatisfy { $0 == 1 }, "\(counts)")
  }

  @Test(
    "If a bin of a kept catalog is missing or damaged, its other files are unknown, and stay",
    arguments: [false, true])
  func brokenBin(isDamaged: Bool) throws {
    try shop.publishHistory()  // catalogs 3 to 6, which change one bin
    let bin = try shop.fixture.bin(of: "book")
    if isDamaged {
      try shop.damageFile(at: "metadata/5.\(bin).json")
    } else {
      try shop.removeFile(at: "metadata/5.\(bin).json")
    }
    let pruned = try shop.store.prune(keepDays: 30, now: shop.at(45))
    #expect(pruned.obstacle?.contains("5.\(bin).json") == true)
    #expect(pruned.files.contains { $0.path == "metadata/4.\(bin).json" })
    #expect(
      pruned.files.allSatisfy {
        $0.path.hasPrefix("metadata/") && !$0.path.hasSuffix(".records.jsonl")
      })
    let later = try shop.store.prune(keepDays: 30, now: shop.at(80))
    #expect(later.obstacle == nil)
    #expect(later.files.contains { $0.path.hasPrefix("targets/book/1/") })
  }

  @Test("A lost record of a kept catalog is read from the records file; without both, files stay")
  func lostRecord() throws {
    try shop.publishHistory()  // catalogs 3 to 6, which change one bin
    for path in try shop.files()
    where path.hasPrefix("targets/book/") && path.hasSuffix(".product.json") {
      try shop.removeFile(at: path)
    }
    let readable = try shop.store.prunableFiles(keepDays: 30, now: shop.at(45))
    #expect(readable.obstacle == nil)
    #expect(readable.files.contains { $0.path.hasPrefix("targets/book/1/") })
    for path in try shop.files() where path.hasSuffix(".records.jsonl") {
      try shop.removeFile(at: path)
    }
    let lost = try shop.store.prunableFiles(keepDays: 30, now: shop.at(45))
    #expect(lost.obstacle?.contains("book") == true)
    #expect(!lost.files.contains { $0.path.hasPrefix("targets/") })
  }

  @Test("A store whose current catalog has a damaged bin is not pruned")
  func damagedCatalog() throws {
    try shop.publishHistory()  // catalogs 3 to 6, which change one bin
    let path = try shop.paths(of: "book", day: 20).list
    try shop.damageFile(at: path)
    let before = try shop.files()
    let error = #expect(throws: ContentError.self) { try shop.store.prune(now: shop.at(80)) }
    #expect(error?.group == .trust && error?.subject?.hasSuffix(path) == true)
    try shop.removeFile(at: path)
    #expect(code { try shop.store.prune(now: shop.at(80)) } == .storeDamaged)
    #expect(try shop.files() == before.subtracting([path]))
  }

  @Test("Files that only have the name of a bin are listed, and stay")
  func foreign() throws {
    let old = try shop.fixture.bytes("1.targets.json")
    try shop.add("club", day: 20)
    let foreign = try RoleSigner(keys: [SigningKey.generate()]).sign(
      TargetsRole(version: 1, expires: shop.at(1_000), targets: [:]))
    try shop.fixture.put([
      // Signed with other keys; signed, but not as a bin; not metadata; not the name of a bin.
      "1.bin-0.json": foreign, "1.bin-1.json": old, "1.bin-2.json": [1], "1.bin-x.json": [1],
    ])
    let unknown = ["0", "1", "2", "x"].map { "metadata/1.bin-\($0).json" }
    let pruned = try shop.store.prune(keepDays: 10, now: shop.at(80))
    #expect(pruned.unknown == unknown)
    let needed = try shop.needed(by: shop.client(day: 80))
    #expect(try shop.files() == needed.union(unknown))
  }

  @Test("Bins and records files of an interrupted publication are removed after the next one")
  func interrupted() throws {
    let other = try shop.fixture.open(fileSystem: .failing(.rename, at: ".snapshot.json"))
    #expect(throws: ContentError.self) { try other.add("club", now: shop.at(2)) }
    let orphan = "metadata/3.\(try shop.fixture.bin(of: "club")).json"
    #expect(try shop.files().contains(orphan))
    try shop.store.prune(keepDays: 1, now: shop.at(10))
    // The number is higher than the current one: its catalog may be uploaded next.
    #expect(try shop.files().contains(orphan))
    try shop.add("club", "Club", day: 20)  // catalog 4
    try shop.store.prune(keepDays: 1, now: shop.at(40))
    #expect(try shop.files() == shop.needed(by: shop.client(day: 40)))
  }

  @Test("Bins of an earlier number of bins are removed, although snapshots still list them")
  func earlierBins() throws {
    let client = try shop.client(day: 2)
    try shop.sign(bits: 5, day: 40)  // catalog 3, with 32 bins
    try shop.store.prune(keepDays: 30, now: shop.at(60))
    // The catalog with four bins was current 20 days ago.
    try shop.fetchAll(client)
    let pruned = try shop.store.prune(keepDays: 30, now: shop.at(80))
    let removed = Set(pruned.files.map(\.path))
    #expect(removed.isSuperset(of: (0..<4).map { "metadata/2.bin-\($0).json" }))
    let later = try shop.client(day: 80)
    #expect(later.snapshot?.files["bin-0.json"]?.version == 2)
    #expect(try shop.files() == shop.needed(by: later))
    #expect(try shop.store.verify().damages.isEmpty)
    #expect(try shop.store.status(now: shop.at(80)).missingFiles.isEmpty)

    // A client that knows the earlier snapshot accepts the next one.
    try shop.add("club", day: 81)
    var known = later
    _ = try known.update(timestamp: shop.fixture.bytes("timestamp.json"), now: shop.at(81))
    let snapshot = try #require(known.timestamp).snapshot.version
    try known.update(snapshot: shop.fixture.bytes("\(snapshot).snapshot.json"), now: shop.at(81))
    #expect(known.snapshot?.files["bin-0.json"]?.version == 2)
    #expect(try shop.catalog(shop.client(day: 81)).record(of: "club") != nil)
  }

  @Test("Catalogs under an earlier root are known as the store's")
  func rotated() throws {
    try shop.publishHistory()  // catalogs 3 to 6, which change one bin
    try shop.store.rotate([.targets, .snapshot, .timestamp], now: shop.at(25))  // catalog 7
    let client = try shop.client(day: 26)
    try shop.add("club", day: 40)  // 8
    let kept = try shop.store.prune(keepDays: 30, now: shop.at(45))
    #expect(kept.unknown.isEmpty && kept.obstacle == nil)
    try shop.fetchAll(client)
    let pruned = try shop.store.prune(keepDays: 10, now: shop.at(80))
    #expect(pruned.unknown.isEmpty && pruned.obstacle == nil)
    #expect(try shop.files() == shop.needed(by: shop.client(day: 80)))
  }
}
