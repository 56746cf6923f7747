import HostedConcurrency
import HostedModel
import ContentStore
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// Large catalogs whose metadata expires, is lost, or was not written completely.
@Suite(.long) struct CatalogBinRepairTests {
  private let fixture: PublisherFixture
  private let store: StoreFolder
  private let root: [UInt8]
  private let products: [ProductIdentifier]
  private let one: ProductIdentifier
  /// A product in another bin than `one`.
  private let other: ProductIdentifier

  init() throws {
    let fixture = try PublisherFixture()
    let store = try fixture.create()
    let products = try BinNames.tooManyForOneList()
    let bin = try fixture.bin(of: products[0])
    one = products[0]
    other = try #require(try products.first { try fixture.bin(of: $0) != bin })
    root = try store.initialRoot()
    try fixture.add(products, to: store)
    (self.fixture, self.store, self.products) = (fixture, store, products)
  }

  private func day(_ number: Double) -> Date { fixture.now.addingTimeInterval(number * 86_400) }

  private func expectAll(
    _ client: TrustClient, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let targets = try client.refresh(initialRoot: root)
    #expect(
      try PublisherFixture.products(targets) == Set(products.map(\.rawValue)),
      sourceLocation: location)
  }

  /// The name of the current file of the bin of `product`.
  private func file(of product: ProductIdentifier) throws -> String {
    let bin = try fixture.bin(of: product)
    let version = try #require(try fixture.binVersions()[bin])
    return "\(version).\(bin).json"
  }

  // MARK: Expiry

  @Test func `a refresh renews only the bins that are due`() throws {
    let bin = try fixture.bin(of: one)
    try fixture.retitle(one, "New", in: store, now: day(100))
    let before = try fixture.binVersions()
    let targets = try #require(try fixture.listed()["targets.json"])

    // All but the changed bin have less than half of a year left.
    let renewal = try store.refresh(now: day(184))
    #expect(renewal.roles == [.targets, .snapshot, .timestamp])
    let renewed = try fixture.binVersions()
    let snapshot = try fixture.snapshotVersion()
    for (name, version) in before {
      #expect(renewed[name] == (name == bin ? version : snapshot), "\(name)")
    }
    let newTargets = try #require(try fixture.listed()["targets.json"])
    #expect(newTargets != targets)
    #expect(try store.refresh(now: day(185)).roles.isEmpty)
    // The first metadata of the unchanged bins has expired by then.
    #expect(try fixture.title(of: other, trusting: root, time: day(184 + 80)) != nil)

    // Now only the changed bin is due.
    try store.refresh(now: day(284))
    let last = try fixture.snapshotVersion()
    for (name, version) in renewed {
      #expect(try fixture.binVersions()[name] == (name == bin ? last : version), "\(name)")
    }
    #expect(try fixture.listed()["targets.json"] == newTargets)
    #expect(try fixture.title(of: one, trusting: root, time: day(284)) == "New")
  }

  // MARK: Backups

  @Test func `all bins of a restored backup are signed again with higher versions`() throws {
    let backup = try fixture.files()
    let trust = try TemporaryFolder()
    let client = try fixture.client(trust)
    try fixture.retitle(one, "Later", in: store)
    try fixture.retitle(other, "Later", in: store)
    try expectAll(client)
    let highest = try fixture.snapshotVersion()

    try fixture.putBack(backup)
    #expect(code { try fixture.retitle(one, "x", in: store) } == .storeRolledBack)
    let renewal = try fixture.open(restored: true).refresh(now: fixture.now)
    #expect(renewal.roles == [.targets, .snapshot, .timestamp])
    for (name, version) in try fixture.binVersions() { #expect(version > highest, "\(name)") }
    try expectAll(client)
    for product in [one, other] {
      #expect(try fixture.title(of: product, trusting: root) == product.rawValue)
    }
    #expect(try store.refresh(now: fixture.now).roles.isEmpty)
    withExtendedLifetime(trust) {}
  }

  @Test func `clients that have seen bins accept a restored backup of one list`() throws {
    let fixture = try PublisherFixture()
    let store = try fixture.create()
    let root = try store.initialRoot()
    try fixture.add("a", to: store)
    let backup = try fixture.files()
    try fixture.add(products, to: store)
    let trust = try TemporaryFolder()
    let client = try fixture.client(trust)
    #expect(try client.refresh(initialRoot: root).lists.count == 4)
    try fixture.putBack(backup)
    try fixture.open(restored: true).refresh(now: fixture.now)
    // A snapshot without a name that was listed before is a rollback.
    #expect(try PublisherFixture.products(client.refresh(initialRoot: nil)) == ["a"])
    withExtendedLifetime(trust) {}
  }

  // MARK: Repair

  @Test(.slow, arguments: [true, false])
  func `a store with a lost or damaged bin is repaired from the catalog before it`(
    _ isLost: Bool
  ) throws {
    let trust = try TemporaryFolder()
    let client = try fixture.client(trust)
    try fixture.retitle(one, "Lost", in: store)
    try expectAll(client)
    #expect(try StoreFolder.repair(at: fixture.storePath, now: fixture.now) == nil)
    let highest = try fixture.snapshotVersion()
    let name = try file(of: one)
    if isLost {
      try fixture.metadata.removeFile(name)
    } else {
      try fixture.put([name: fixture.bytes(name).reversed()])
    }
    let bin = try fixture.bin(of: one)
    let error = #expect(throws: ContentError.self) { try store.products() }
    #expect(error?.code == (isLost ? .storeDamaged : .metadataDamaged))
    #expect(error?.subject?.contains(bin) == true)

    let version = try StoreFolder.repair(at: fixture.storePath, now: fixture.now)
    #expect(version != nil)
    for (name, version) in try fixture.binVersions() { #expect(version > highest, "\(name)") }
    #expect(try fixture.title(of: one, trusting: root) == one.rawValue)
    try expectAll(client)
    #expect(try StoreFolder.repair(at: fixture.storePath, now: fixture.now) == nil)
    try fixture.retitle(one, "New", in: store)
    #expect(try fixture.title(of: one, trusting: root) == "New")
    withExtendedLifetime(trust) {}
  }

  @Test func `a bin that the store's keys did not sign is refused by publishers`() throws {
    let bin = try fixture.bin(of: one)
    let details = ListDetails(
      role: .delegated(bin), length: 0, digest: try Digest(of: [UInt8]()))
    let forged = try RoleSigner(keys: [SigningKey.generate()]).sign(
      TargetsRole(
        version: fixture.snapshotVersion(), expires: day(300), targets: [:], details: details))
    try fixture.put([file(of: one): forged])
    let before = try fixture.files()
    let operations: [() throws -> Void] = [
      { try fixture.retitle(one, "New", in: store) }, { _ = try store.products() },
      { try store.refresh(everything: true, now: fixture.now) },
    ]
    for operation in operations {
      let error = #expect(throws: ContentError.self) { try operation() }
      #expect(error?.code == .signatureInvalid)
      #expect(error?.subject?.contains(bin) == true)
    }
    #expect(try fixture.files() == before)
    // Products in other bins can be changed.
    try fixture.retitle(other, "New", in: store)
    #expect(try fixture.title(of: other, trusting: root) == "New")
  }

  // MARK: Interruptions

  /// A file system in which the rename of a bin fails, after `count` bins.
  private func failing(afterBins count: Int) -> FileSystem {
    let remaining = Mutex(count)
    return FileSystem { operation, path in
      guard operation == .rename, path.contains(".bin-") else { return }
      let fails = remaining.withLock { remaining in
        remaining -= 1
        return remaining < 0
      }
      if fails { throw FaultPlan.diskFull }
    }
  }

  @Test(.slow, arguments: [0, 1, 3])
  func `a growth that fails after some bins leaves the list, and the next one succeeds`(
    _ count: Int
  ) throws {
    let fixture = try PublisherFixture()
    let store = try fixture.create()
    let root = try store.initialRoot()
    try fixture.add(Array(products.dropLast()), to: store)
    let trust = try TemporaryFolder()
    let client = try fixture.client(trust)
    _ = try client.refresh(initialRoot: root)
    let last = try #require(products.last)
    let broken = try fixture.open(fileSystem: failing(afterBins: count))
    #expect(code { try fixture.add([last], to: broken) } == .diskFull)
    let written = try fixture.files().filter { $0.key.contains(".bin-") }
    #expect(written.count == count)
    #expect(try client.refresh(initialRoot: nil).lists == [.targets])
    #expect(try fixture.products(trusting: root).count == 128)
    #expect(try store.products().count == 128)

    try fixture.add([last], to: store)
    let targets = try client.refresh(initialRoot: nil)
    #expect(try targets.lists.count == 4)
    #expect(try PublisherFixture.products(targets).count == 129)
    #expect(try fixture.products(trusting: root).count == 129)
    // The files of the interrupted publication are not used.
    for (name, bytes) in written { #expect(try fixture.bytes(name) == bytes) }
    withExtendedLifetime(trust) {}
  }

  @Test(.slow) func `after a failure at any step of a change, no version of a bin is signed twice`()
    throws
  {
    var (step, fired) = (0, true)
    var visible: [String: [UInt8]] = [:]
    func look() throws {
      for (name, version) in try fixture.binVersions() {
        let file = "\(version).\(name).json"
        let bytes = try fixture.bytes(file)
        let isSame = visible[file, default: bytes] == bytes
        #expect(isSame, "\(file) was signed twice")
        visible[file] = bytes
      }
      #expect(try fixture.products(trusting: root).count == products.count)
    }
    while fired {
      step += 1
      let fault = FaultPlan(failing: step)
      let failure = code {
        try fixture.retitle(one, "\(step)", in: fixture.open(fileSystem: fault.fileSystem))
      }
      fired = fault.hasFired
      try look()
      let title = try fixture.title(of: one, trusting: root)
      if failure == nil { #expect(title == "\(step)") }
      try fixture.retitle(other, "other \(step)", in: store)
      try look()
      try fixture.retitle(one, "after \(step)", in: store)
      try look()
      #expect(try fixture.title(of: one, trusting: root) == "after \(step)")
      #expect(try fixture.title(of: other, trusting: root) == "other \(step)")
    }
    #expect(step > 25)
  }

  // MARK: Two publishers

  @Test(.slow) func `two machines change bins in turn, and a replaced publication is detected`()
    throws
  {
    try fixture.copy("store.keys", to: "second.keys")
    let second = try fixture.open(
      StoreKeyOptions(folder: URL(filePath: fixture.folder.path("second.keys"))))
    for round in 1...2 {
      try fixture.retitle(one, "first \(round)", in: store)
      try fixture.retitle(other, "second \(round)", in: second)
    }
    #expect(try fixture.title(of: one, trusting: root) == "first 2")
    #expect(try fixture.title(of: other, trusting: root) == "second 2")

    let before = try fixture.files()
    // The first machine must know the state from which both continue.
    try store.refresh(now: fixture.now)
    try fixture.retitle(one, "lost", in: store)
    // The second machine publishes to its own copy, and uploads it over the first publication.
    try fixture.putBack(before)
    for number in 1...2 { try fixture.retitle(other, "kept \(number)", in: second) }
    let error = #expect(throws: ContentError.self) {
      try fixture.retitle(one, "next", in: store)
    }
    #expect(error?.code == .storeRolledBack)
    #expect(error?.subject?.hasSuffix(".snapshot.json") == true)
    try fixture.retitle(one, "next", in: fixture.open(restored: true))
    #expect(try fixture.title(of: one, trusting: root) == "next")
    #expect(try fixture.title(of: other, trusting: root) == "kept 2")
  }
}
