import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// Lost or damaged files of a catalog, which the next publication writes again.
@Suite(.long) struct LostTargetTests {
  private let fixture: PublisherFixture

  init() throws { fixture = try PublisherFixture() }

  /// A damage to a file.
  enum Accident: CaseIterable { case lost, shortened, changed, grown }

  /// Damages the files in `path`, below the store, whose names end in `suffix`.
  private func suffer(_ accident: Accident, _ suffix: String, in path: String) throws {
    let folder = try FileSystem.real.directory(at: "\(fixture.storePath)/\(path)")
    let names = try folder.entries().map(\.name).filter { $0.hasSuffix(suffix) }
    #expect(!names.isEmpty)
    for name in names {
      var bytes = try folder.contents(of: name, limit: 1 << 20)
      switch accident {
      case .lost:
        try folder.removeFile(name)
        continue
      case .shortened: bytes = Array(bytes.dropLast())
      case .changed: if !bytes.isEmpty { bytes[bytes.count / 2] ^= 1 }
      case .grown: bytes.append(0)
      }
      try folder.replaceFile(name, with: bytes)
    }
  }

  /// Returns the catalog as a new client sees it.
  ///
  /// `trust` must live as long as the result.
  private func catalog(_ trust: TemporaryFolder) throws -> TrustedTargets {
    try fixture.client(trust).refresh(initialRoot: fixture.bytes("1.root.json"))
  }

  /// Reads every file that the catalog lists, like a new client, and returns their number.
  private func readAll() throws -> Int {
    let trust = try TemporaryFolder()
    defer { withExtendedLifetime(trust) {} }
    return try fixture.readAll(catalog(trust))
  }

  @Test(.slow, arguments: Accident.allCases, [".content.pkg", ".content.index"])
  func `publishing the same package writes its lost and damaged files again`(
    _ accident: Accident, _ suffix: String
  ) throws {
    let store = try fixture.create()
    let paths = [try fixture.package("book", "1"), try fixture.package("other", "1")]
    try store.publish(paths, now: fixture.now)
    let before = try fixture.files()
    try suffer(accident, suffix, in: "targets/book/1")
    #expect(throws: ContentError.self) { try readAll() }
    let written = try store.publish(paths, now: fixture.now).versions
    #expect(written.map(\.productIdentifier.rawValue) == ["book"])
    #expect(try readAll() == 6)
    // The catalog lists the same files as before, so nothing was signed.
    #expect(try fixture.files() == before)
    #expect(try store.publish(paths, now: fixture.now).versions.isEmpty)
  }

  @Test(arguments: Accident.allCases)
  func `publishing and adding write the same record again`(_ accident: Accident) throws {
    let store = try fixture.create()
    let path = try fixture.package("book", "1")
    let book = ProductIdentifier("book")
    let details = ProductDetails(title: "Book", price: 1)
    try store.publish([path], details: details, now: fixture.now)
    let before = try fixture.files()
    try suffer(accident, ".product.json", in: "targets/book")
    #expect(throws: ContentError.self) { try readAll() }
    try store.publish([path], now: fixture.now)
    #expect(try readAll() == 3)
    try suffer(accident, ".product.json", in: "targets/book")
    try store.add(book, now: fixture.now)
    #expect(try readAll() == 3)
    #expect(try fixture.files() == before)
  }

  @Test(.slow, arguments: Accident.allCases)
  func `a lost record is read from the records file of its list`(_ accident: Accident) throws {
    let store = try fixture.create()
    let paths = [try fixture.package("book", "1"), try fixture.package("other", "1")]
    let book = ProductIdentifier("book")
    try store.publish(paths, details: ProductDetails(title: "T", price: 2), now: fixture.now)
    try store.publish([fixture.package("book", "2")], now: fixture.now)
    try store.retire(book, version: ContentVersion("2"), now: fixture.now)

    try suffer(accident, ".product.json", in: "targets/book")
    let listed = try store.products()
    #expect(listed.map(\.record.productIdentifier.rawValue) == ["book", "other"])
    #expect(listed.map { $0.record.texts["en"]?.title } == ["T", "T"])
    #expect(listed.map { $0.versions.map(\.version.rawValue) } == [["1"], ["1"]])
    try store.publish([fixture.package("book", "3")], now: fixture.now)
    #expect(try readAll() == 8)
    try suffer(accident, ".product.json", in: "targets/book")
    try store.add(book, details: ProductDetails(title: "New", price: 3), now: fixture.now)
    #expect(try readAll() == 8)
    let record = try #require(store.products().first).record
    #expect(record.texts["en"]?.title == "New" && record.price == Price(3, currency: "USD"))
    // The number of the retired version cannot be used again.
    try store.retire(book, version: ContentVersion("3"), now: fixture.now)
    #expect(
      code { try store.publish([fixture.package("book", "2.5")], now: fixture.now) }
        == .versionExists)
  }

  @Test(arguments: Accident.allCases)
  func `the next change of a list writes a complete records file`(_ accident: Accident) throws {
    let store = try fixture.create()
    try fixture.add(["a", "b", "c"], to: store)
    try suffer(accident, ".records.jsonl", in: "metadata")
    #expect(try store.products().map(\.record.productIdentifier.rawValue) == ["a", "b", "c"])
    try store.add("b", details: ProductDetails(title: "New"), now: fixture.now)
    let trust = try TemporaryFolder()
    let targets = try catalog(trust)
    let list = try targets.list(.targets)
    let records = try #require(try targets.records(of: list))
    #expect(Set(records.keys) == Set(list.products.values.compactMap(\.digest)))
    #expect(records.count == 3)
    withExtendedLifetime(trust) {}
  }

  @Test(arguments: Accident.allCases)
  func `signing everything again writes lost and damaged records files again`(
    _ accident: Accident
  ) throws {
    let store = try fixture.create()
    try fixture.add(["a", "b", "c"], to: store)
    try suffer(accident, ".records.jsonl", in: "metadata")
    try store.refresh(everything: true, now: fixture.now)
    let trust = try TemporaryFolder()
    let targets = try catalog(trust)
    #expect(try targets.records(of: targets.list(.targets))?.count == 3)
    withExtendedLifetime(trust) {}
  }

  @Test func `the error for a record that is lost in both files names the product and its file`()
    throws
  {
    let store = try fixture.create()
    try store.publish([fixture.package("book", "1")], now: fixture.now)
    try suffer(.lost, ".product.json", in: "targets/book")
    try suffer(.changed, ".records.jsonl", in: "metadata")
    let error = #expect(throws: ContentError.self) { try store.products() }
    #expect(error?.code == .storeDamaged)
    #expect(error?.subject == "book")
    #expect(error?.remedy.contains("targets/book/") == true)
  }

  @Test func `a lost package is not written again with other bytes`() throws {
    let store = try fixture.create()
    try store.publish([fixture.package("book", "1")], now: fixture.now)
    try suffer(.lost, ".content.pkg", in: "targets/book/1")
    let other = try fixture.package("book", "1.0")
    #expect(code { try store.publish([other], now: fixture.now) } == .versionExists)
  }
}
