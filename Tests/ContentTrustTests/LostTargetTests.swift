import ContentModel
import ContentStore
import ContentTrust
import FileIO
import FoundationEssentials
import TestSupport
import TestTraits
import Testing

/// Lost or damaged files in `targets`, which the next publication writes again.
@Suite(.long) struct LostTargetTests {
  private let fixture: PublisherFixture

  init() throws { fixture = try PublisherFixture() }

  /// A damage to a file.
  enum Accident: CaseIterable { case lost, shortened, changed, grown }

  /// Damages the file in `targets` whose name ends in `suffix`.
  private func suffer(_ accident: Accident, _ suffix: String, in path: String) throws {
    let folder = try FileSystem.real.directory(at: "\(fixture.storePath)/targets/\(path)")
    let name = try #require(folder.entries().map(\.name).first { $0.hasSuffix(suffix) })
    var bytes = try folder.contents(of: name, limit: 1 << 20)
    switch accident {
    case .lost: return try folder.removeFile(name)
    case .shortened: bytes.removeLast()
    case .changed: bytes[bytes.count / 2] ^= 1
    case .grown: bytes.append(0)
    }
    try folder.replaceFile(name, with: bytes)
  }

  /// Fetches every file that the catalog lists, like a client.
  private func fetchAll(_ root: [UInt8]) throws -> Int {
    let trust = try TemporaryFolder()
    let targets = try fixture.client(trust).refresh(initialRoot: root)
    for name in targets.targets.keys { _ = try targets.fetchTarget(name) }
    return targets.targets.count
  }

  @Test(arguments: Accident.allCases, [".content.pkg", ".content.index"])
  func `publishing the same package writes its lost and damaged files again`(
    _ accident: Accident, _ suffix: String
  ) throws {
    let store = try fixture.create()
    let paths = [try fixture.package("book", "1"), try fixture.package("other", "1")]
    try store.publish(paths, now: fixture.now)
    let before = try fixture.files()
    try suffer(accident, suffix, in: "book/1")
    #expect(throws: ContentError.self) { try fetchAll(store.initialRoot()) }
    let written = try store.publish(paths, now: fixture.now).versions
    #expect(written.map(\.productIdentifier.rawValue) == ["book"])
    #expect(try fetchAll(store.initialRoot()) == 6)
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
    try suffer(accident, ".product.json", in: "book")
    try store.publish([path], details: details, now: fixture.now)
    #expect(try fetchAll(store.initialRoot()) == 3)
    try suffer(accident, ".product.json", in: "book")
    try store.add(book, details: details, now: fixture.now)
    #expect(try fetchAll(store.initialRoot()) == 3)
    #expect(try fixture.files() == before)
  }

  @Test(arguments: Accident.allCases)
  func `a product with a lost record gets a new one, and other products remain listed`(
    _ accident: Accident
  ) throws {
    let store = try fixture.create()
    let paths = [try fixture.package("book", "1"), try fixture.package("other", "1")]
    let book = ProductIdentifier("book")
    try store.publish(paths, details: ProductDetails(title: "T", price: 2), now: fixture.now)
    try store.publish([fixture.package("book", "2")], now: fixture.now)
    try store.retire(book, ContentVersion("2"), now: fixture.now)

    try suffer(accident, ".product.json", in: "book")
    let listed = try store.products()
    #expect(listed.map(\.record.productIdentifier.rawValue) == ["book", "other"])
    #expect(listed.map { $0.record.texts["en"]?.title } == ["book", "T"])
    #expect(listed.map { $0.versions.map(\.version.rawValue) } == [["1"], ["1"]])
    try store.publish([fixture.package("book", "3")], now: fixture.now)
    #expect(try fetchAll(store.initialRoot()) == 8)
    try suffer(accident, ".product.json", in: "book")
    try store.add(book, details: ProductDetails(title: "New", price: 3), now: fixture.now)
    let record = try #require(store.products().first).record
    #expect(record.texts["en"]?.title == "New" && record.price == Price(3, currency: "USD"))
    // The number of the retired version cannot be used again.
    try store.retire(book, ContentVersion("3"), now: fixture.now)
    #expect(
      code { try store.publish([fixture.package("book", "2.5")], now: fixture.now) }
        == .versionExists)
  }

  @Test func `a lost package is not written again with other bytes`() throws {
    let store = try fixture.create()
    try store.publish([fixture.package("book", "1")], now: fixture.now)
    try suffer(.lost, ".content.pkg", in: "book/1")
    let other = try fixture.package("book", "1.0")
    #expect(code { try store.publish([other], now: fixture.now) } == .versionExists)
  }
}
