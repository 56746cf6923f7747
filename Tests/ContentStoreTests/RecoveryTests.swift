import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// Stores whose files and publication record are from a backup, and clients that saw later numbers.
@Suite(.long) struct RecoveryTests {
  /// A store, and a client that keeps what it has seen.
  private struct Shop {
    let fixture: PublisherFixture
    let store: StoreFolder
    private let trust: TemporaryFolder
    private let root: [UInt8]

    init() throws {
      fixture = try PublisherFixture()
      store = try fixture.create()
      trust = try TemporaryFolder()
      root = try store.initialRoot()
    }

    func add(_ products: String...) throws {
      for product in products { try fixture.add(product, to: store) }
    }

    /// Adds 130 products, which need bins.
    func addMany() throws {
      var products: [ProductIdentifier: ProductDetails] = [:]
      for number in 1...130 {
        products[try ProductIdentifier(validating: "p\(number)")] = ProductDetails()
      }
      try store.add(products, now: fixture.now)
    }

    /// The products that the client sees, from all lists.
    @discardableResult
    func look() throws -> Set<String> {
      let targets = try fixture.client(trust).refresh(initialRoot: root)
      return try targets.lists.reduce(into: []) { found, name in
        found.formUnion(try targets.list(name).products.keys.map(\.rawValue))
      }
    }

    /// The numbers of the metadata in the folder, except the root's.
    func numbers() throws -> [StoreRole: Int64] {
      try store.newestMetadata().versions.filter { $0.key != .root }
    }

    /// The names that the newest snapshot lists.
    func listed() throws -> Set<String> {
      let number = try #require(try numbers()[.snapshot])
      let json = try JSONValue(parsing: fixture.bytes("\(number).snapshot.json"))
      guard case .object(let files)? = json["signed"]?["meta"] else { return [] }
      return Set(files.keys)
    }

    // MARK: Backups

    struct Backup {
      let files: [String: [UInt8]]
      let record: [UInt8]
    }

    var keys: Directory {
      get throws { try FileSystem.real.directory(at: fixture.folder.path("store.keys")) }
    }

    func backup() throws -> Backup {
      try Backup(
        files: fixture.files(), record: keys.contents(of: "published.json", limit: 1 << 16))
    }

    func restore(_ backup: Backup) throws {
      try fixture.putBack(backup.files)
      try keys.replaceFile("published.json", with: backup.record, mode: 0o600)
    }
  }

  /// Returns a store from a backup with the product a, whose client has seen version 5, with d.
  private func restored() throws -> Shop {
    let shop = try Shop()
    try shop.add("a")
    let backup = try shop.backup()
    try shop.add("b", "c", "d")
    #expect(try shop.look() == ["a", "b", "c", "d"])
    try shop.restore(backup)
    #expect(code { try shop.look() } == .metadataRolledBack)
    return shop
  }

  // MARK: One list

  static let seenNumbers: [[StoreRole: Int64]] = [
    [.timestamp: 5, .snapshot: 5, .targets: 5], [.timestamp: 5],
    [.timestamp: 5, .snapshot: 1_000_000],
  ]

  @Test(.slow, arguments: seenNumbers)
  func `a client accepts the recovered store, later changes, and a rotation`(
    _ seen: [StoreRole: Int64]
  ) throws {
    let shop = try restored()
    let signed = try shop.store.recover(seen: seen, now: shop.fixture.now)
    let highest = try #require(seen.values.max())
    #expect(signed[.timestamp] == 6)
    #expect(signed[.snapshot] == (seen[.snapshot] ?? highest) + 1)
    #expect(signed[.targets] == (seen[.targets] ?? highest) + 1)
    #expect(try shop.look() == ["a"])
    try shop.add("b")
    #expect(try shop.look() == ["a", "b"])
    try shop.store.rotate(StoreRole.allCases, now: shop.fixture.now)
    try shop.add("e")
    #expect(try shop.look() == ["a", "b", "e"])
  }

  @Test func `the root keys are not needed`() throws {
    let shop = try restored()
    try shop.keys.directory("root").removeFile("root.pem")
    try shop.store.recover(seen: [.timestamp: 5], now: shop.fixture.now)
    #expect(try shop.look() == ["a"])
  }

  @Test func `without numbers, it signs above the recorded ones`() throws {
    let shop = try Shop()
    try shop.add("a")
    let backup = try shop.backup()
    try shop.add("b", "c")
    try shop.look()
    // Only the files are restored, not the record.
    try shop.fixture.putBack(backup.files)
    #expect(code { try shop.add("d") } == .storeRolledBack)
    let signed = try shop.store.recover(now: shop.fixture.now)
    #expect(signed == [.root: 1, .timestamp: 5, .snapshot: 5, .targets: 5])
    #expect(try shop.look() == ["a"])
  }

  @Test func `numbers below the recorded ones have no effect`() throws {
    let shop = try Shop()
    try shop.add("a", "b")
    let signed = try shop.store.recover(seen: [.timestamp: 1], now: shop.fixture.now)
    #expect(signed[.timestamp] == 4)
  }

  static let impossibleNumbers: [(StoreRole, Int64)] = [
    (.timestamp, 0), (.snapshot, -1), (.targets, Int64.max - 1), (.targets, Int64.max), (.root, 2),
  ]

  @Test(arguments: impossibleNumbers)
  func `a number that clients cannot have seen is refused`(_ role: StoreRole, _ number: Int64)
    throws
  {
    let shop = try Shop()
    let before = try shop.backup()
    #expect(
      code { try shop.store.recover(seen: [role: number], now: shop.fixture.now) } == .usage)
    #expect(try shop.backup().files == before.files)
    #expect(try shop.backup().record == before.record)
  }

  @Test func `a root that is recorded but missing is an error`() throws {
    let shop = try Shop()
    try shop.add("a")
    let backup = try shop.backup()
    try shop.store.rotate([.timestamp], now: shop.fixture.now)
    try shop.fixture.putBack(backup.files)
    let error = #expect(throws: ContentError.self) {
      try shop.store.recover(seen: [.timestamp: 9], now: shop.fixture.now)
    }
    #expect(error?.code == .storeRolledBack)
    #expect(error?.subject?.hasSuffix("root.json") == true)
  }

  // MARK: Bins

  @Test(.slow) func `a client accepts a recovered store with bins`() throws {
    let shop = try Shop()
    try shop.addMany()
    let backup = try shop.backup()
    try shop.add("b", "c", "d")
    #expect(try shop.look().count == 133)
    let seen = try shop.numbers()
    #expect(try shop.listed().count == 5)
    try shop.restore(backup)
    #expect(code { try shop.look() } == .metadataRolledBack)
    try shop.store.recover(seen: seen, now: shop.fixture.now)
    #expect(try shop.look().count == 130)
    try shop.store.rotate([.targets], now: shop.fixture.now)
    try shop.add("e")
    #expect(try shop.look().count == 131)
  }

  @Test func `bins that the backup does not have stay in the snapshot`() throws {
    let shop = try Shop()
    try shop.add("a")
    let backup = try shop.backup()
    try shop.addMany()
    try shop.look()
    let (seen, listed) = (try shop.numbers(), try shop.listed())
    try shop.restore(backup)
    try shop.store.recover(seen: seen, listed: listed, now: shop.fixture.now)
    #expect(try shop.listed() == listed)
    #expect(try shop.look() == ["a"])
    // When the catalog grows again, they get later versions.
    try shop.addMany()
    #expect(try shop.look().count == 131)
  }

  @Test func `without their names, new keys of snapshot and timestamp help`() throws {
    let shop = try Shop()
    try shop.add("a")
    let backup = try shop.backup()
    try shop.addMany()
    try shop.look()
    let seen = try shop.numbers()
    try shop.restore(backup)
    try shop.store.recover(seen: seen, now: shop.fixture.now)
    #expect(code { try shop.look() } == .metadataRolledBack)
    try shop.store.rotate([.snapshot, .timestamp], now: shop.fixture.now)
    #expect(try shop.look() == ["a"])
  }

  // MARK: Lost records

  /// Returns a store with two products that has lost its record and its timestamp, version 3.
  private func withoutRecord() throws -> Shop {
    let shop = try Shop()
    try shop.add("a", "b")
    try shop.look()
    try shop.keys.removeFile("published.json")
    try shop.fixture.metadata.removeFile("timestamp.json")
    return shop
  }

  @Test func `without a record, a repair signs a timestamp above the snapshot`() throws {
    let shop = try withoutRecord()
    #expect(try StoreFolder.repair(at: shop.fixture.storePath, now: shop.fixture.now) == 3)
    #expect(try shop.look() == ["a", "b"])
  }

  @Test func `without a record, an interrupted repair can be repeated`() throws {
    let shop = try withoutRecord()
    // After the numbers are recorded, before the first metadata is written.
    let fileSystem = FileSystem.failing(.create, at: "metadata/.publication.new")
    let failure = code {
      _ = try StoreFolder.repair(
        at: shop.fixture.storePath, now: shop.fixture.now, fileSystem: fileSystem)
    }
    #expect(failure == .diskFull)
    #expect(try shop.keys.status(of: "published.json") != nil)
    #expect(try StoreFolder.repair(at: shop.fixture.storePath, now: shop.fixture.now) == 3)
    #expect(try shop.look() == ["a", "b"])
  }

  // MARK: Crashes

  @Test(.slow) func `after a failure at any step, the next recovery signs no number twice`() throws
  {
    var (step, fired) = (0, true)
    while fired {
      step += 1
      let shop = try restored()
      let fault = FaultPlan(failing: step)
      _ = code {
        try shop.fixture.open(fileSystem: fault.fileSystem)
          .recover(seen: [.timestamp: 5], now: shop.fixture.now)
      }
      fired = fault.hasFired
      let before = try shop.fixture.files().filter {
        $0.key != "timestamp.json" && !$0.key.hasPrefix(".")
      }
      try shop.store.recover(seen: [.timestamp: 5], now: shop.fixture.now.addingTimeInterval(9))
      let after = try shop.fixture.files()
      for (name, bytes) in before { #expect(after[name] == bytes, "\(name)") }
      #expect(try shop.look() == ["a"])
    }
    #expect(step > 20)
  }
}
