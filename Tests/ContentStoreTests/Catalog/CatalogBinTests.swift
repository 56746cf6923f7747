import HostedConcurrency
import HostedModel
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import ContentStore

/// Large catalogs, whose entries are in hash bins.
@Suite(.long) struct CatalogBinTests {
  private let fixture: PublisherFixture
  /// One more product than a single list can have.
  private let products: [ProductIdentifier]

  init() throws {
    fixture = try PublisherFixture()
    products = try BinNames.tooManyForOneList()
  }

  /// Creates a store with four bins.
  private func created() throws -> StoreFolder {
    let store = try fixture.create()
    try fixture.add(products, to: store)
    return store
  }

  private func names(_ products: [ProductIdentifier]) -> Set<String> {
    Set(products.map(\.rawValue))
  }

  // MARK: The number of bins

  @Test(arguments: [
    (128, 0, false), (129, 0, true), (384, 2, false), (385, 2, true), (384, 10, false),
    (385, 10, true), (1_000_000, 12, false),
  ])
  func `a list is full above its limit, except in the largest number of bins`(
    count: Int, bits: Int, isFull: Bool
  ) {
    #expect(CatalogSize.isFull(count, bits: Int64(bits)) == isFull)
  }

  @Test(arguments: [
    (0, 129, 2), (0, 1_536, 2), (0, 1_537, 4), (2, 6_144, 4), (2, 6_145, 8), (4, 98_304, 8),
    (8, 98_305, 10), (8, 393_216, 10), (10, 393_217, 12), (10, 10_000_000, 12),
    (12, 10_000_000, 12),
  ])
  func `a catalog grows to the fewest bins of which none is full`(
    bits: Int, entries: Int, next: Int
  ) {
    let found = CatalogSize.bits(after: Int64(bits)) { bits in
      let bins = 1 << Int(bits)
      return Array(repeating: (entries + bins - 1) / bins, count: bins)
    }
    #expect(found == Int64(next))
  }

  @Test func `one full bin is enough for a catalog to grow`() {
    let found = CatalogSize.bits(after: 0) { $0 == 2 ? [385, 1, 1, 1] : [200, 200] }
    #expect(found == 4)
  }

  // MARK: Growing

  @Test func `a store grows from one list to bins, and a running client follows`() throws {
    let store = try fixture.create()
    let root = try store.initialRoot()
    try fixture.add(Array(products.dropLast()), to: store)
    let trust = try TemporaryFolder()
    let client = try fixture.client(trust)
    let before = try client.refresh(initialRoot: root)
    #expect(try before.lists == [.targets])
    #expect(before.targets.count == 128)
    let snapshot = try fixture.snapshotVersion()

    let last = try #require(products.last)
    try fixture.add([last], to: store)
    #expect(try fixture.snapshotVersion() == snapshot + 1)
    let after = try client.refresh(initialRoot: nil)
    let bins = (0..<4).map { MetadataName.delegated("bin-\($0)") }
    #expect(try after.lists == bins)
    #expect(after.targets.isEmpty)
    #expect(after.role.details == nil, "the file of one list is not the file of a bin")
    #expect(try PublisherFixture.products(after) == names(products))
    for product in products { #expect(try after.record(of: product)?.product == product) }
    #expect(try after.record(of: ProductIdentifier("unknown")) == nil)
    #expect(try store.products().map(\.record.productIdentifier) == products.sorted())
    #expect(try fixture.products(trusting: root) == names(products))
    withExtendedLifetime(trust) {}
  }

  @Test(.slow) func `a growing catalog uses names of bins again, and lists all earlier names`()
    throws
  {
    // All are in the first of 4 bins: 385 entries are too many for one bin.
    let first = try BinNames.products(129, prefix: "a", bin: 0, bits: 4)
    let second = try BinNames.products(256, prefix: "b", bin: 1, bits: 4)
    // With these, the first of 16 bins has 385 entries.
    let third = try BinNames.products(256, prefix: "c", bin: 0, bits: 4)
    let store = try fixture.create()
    let trust = try TemporaryFolder()
    let client = try fixture.client(trust)
    let root = try store.initialRoot()
    func digits(_ count: Int, _ width: Int) -> [String] {
      (0..<count).map {
        let text = String($0, radix: 16)
        return "bin-" + String(repeating: "0", count: width - text.count) + text
      }
    }

    try fixture.add(first, to: store)
    var versions = try fixture.binVersions()
    #expect(versions.keys.sorted() == digits(4, 1))
    #expect(try PublisherFixture.products(client.refresh(initialRoot: root)) == names(first))

    try fixture.add(second, to: store)
    versions = try fixture.binVersions()
    #expect(versions.keys.sorted() == digits(16, 1))
    #expect(try Set(versions.values) == [fixture.snapshotVersion()])
    let sixteen = try client.refresh(initialRoot: nil)
    #expect(try PublisherFixture.products(sixteen) == names(first + second))

    try fixture.add(third, to: store)
    let later = try fixture.binVersions()
    #expect(Set(later.keys) == Set(digits(16, 1) + digits(256, 2)))
    for name in digits(16, 1) { #expect(later[name] == versions[name]) }
    let new = try fixture.snapshotVersion()
    for name in digits(256, 2) { #expect(later[name] == new) }
    let all = try client.refresh(initialRoot: nil)
    #expect(try all.lists == digits(256, 2).map { MetadataName.delegated($0) })
    #expect(try PublisherFixture.products(all) == names(first + second + third))
    #expect(try fixture.products(trusting: root).count == 641)
    withExtendedLifetime(trust) {}
  }

  // MARK: Changes

  @Test func `a change signs only the bin of its product`() throws {
    let store = try created()
    let before = try fixture.binVersions()
    #expect(before.count == 4)
    let targets = try #require(try fixture.listed()["targets.json"])
    try fixture.retitle(products[0], "New", in: store)
    let changed = try fixture.bin(of: products[0])
    var expected = before
    expected[changed] = try fixture.snapshotVersion()
    #expect(try fixture.binVersions() == expected)
    #expect(expected[changed] != before[changed])
    #expect(try fixture.listed()["targets.json"] == targets)
    #expect(try fixture.title(of: products[0], trusting: store.initialRoot()) == "New")
    // A publication without a change signs nothing.
    let files = try fixture.files()
    try fixture.retitle(products[0], "New", in: store)
    #expect(try fixture.files() == files)
  }

  @Test func `the snapshot lists only the versions of bins`() throws {
    _ = try created()
    let bins = try fixture.listed().filter { $0.key.hasPrefix("bin-") }
    #expect(bins.count == 4)
    for (name, value) in bins {
      let version = try #require(value["version"]?.integer)
      #expect(value == .object(["version": .integer(version)]), "\(name)")
    }
    let targets = try #require(try fixture.listed()["targets.json"])
    #expect(targets["length"]?.integer != nil && targets["hashes"] != nil)
  }

  @Test func `contents and products are found in their own bins`() throws {
    let store = try created()
    let bin = try fixture.bin(of: products[0])
    let content = try #require(
      try (1...100).map { try ProductIdentifier(validating: "content\($0)") }
        .first { try fixture.bin(of: $0) != bin })
    let package = try fixture.package(products[0].rawValue, "1", content: content.rawValue)
    try store.publish([package], now: fixture.now)
    let trust = try TemporaryFolder()
    let targets = try fixture.client(trust).refresh(initialRoot: store.initialRoot())
    #expect(try targets.entry(content) == .content(of: products[0]))
    let record = try #require(try targets.record(of: products[0]))
    #expect(record.offers.map(\.contentIdentifier) == [content])
    try targets.checkClaims(of: record)
    let stolen = try fixture.package(products[1].rawValue, "2", content: content.rawValue)
    #expect(code { try store.publish([stolen], now: fixture.now) } == .contentClaimed)
    withExtendedLifetime(trust) {}
  }

  // MARK: Keys

  @Test(.slow, arguments: [[StoreRole.targets], [.timestamp, .snapshot], StoreRole.allCases])
  func `clients can read all bins at every step of a rotation`(_ roles: [StoreRole]) throws {
    let store = try created()
    let root = try store.initialRoot()
    let known = try TemporaryFolder()
    let fixture = fixture
    let expected = names(products)
    @Sendable func readAll() throws {
      #expect(try fixture.products(trusting: root) == expected)
      // For this client, each step is the first refresh after the state before the rotation.
      let trust = try fixture.copyTrust(known)
      defer { withExtendedLifetime(trust) {} }
      let targets = try fixture.client(trust).refresh(initialRoot: nil)
      #expect(try PublisherFixture.products(targets) == expected)
    }
    let earlier = try fixture.client(known).refresh(initialRoot: root)
    #expect(try PublisherFixture.products(earlier) == expected)
    let before = try fixture.binVersions()
    let steps = Mutex(0)
    let watched = FileSystem { operation, _ in
      guard operation == .rename else { return }
      steps.withLock { $0 += 1 }
      try readAll()
    }
    try fixture.open(fileSystem: watched).rotate(roles, now: fixture.now)
    #expect(steps.withLock { $0 } > 2)
    try readAll()
    let after = try fixture.binVersions()
    let isSignedAgain = roles.contains(.targets)
    for (name, version) in before { #expect((after[name] != version) == isSignedAgain) }
    try fixture.retitle(products[0], "New", in: store)
    #expect(try fixture.title(of: products[0], trusting: root) == "New")
    try readAll()
  }

  @Test(.slow) func `the change after a rotation that ended before its root signs all bins`() throws
  {
    let store = try created()
    let root = try store.initialRoot()
    let broken = try fixture.open(fileSystem: .failing(.rename, at: "/2.root.json"))
    #expect(code { try broken.rotate([.targets], now: fixture.now) } == .diskFull)
    #expect(try fixture.files()["2.root.json"] == nil)
    #expect(try fixture.products(trusting: root) == names(products))
    // Clients of the earlier root must be able to read the changed bin, and the others.
    try fixture.retitle(products[0], "New", in: store)
    #expect(try fixture.products(trusting: root) == names(products))
    #expect(try fixture.title(of: products[0], trusting: root) == "New")
    try fixture.retitle(products[0], "Newer", in: store)
    #expect(try fixture.products(trusting: root) == names(products))
    #expect(try fixture.title(of: products[0], trusting: root) == "Newer")
  }
}
