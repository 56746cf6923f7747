import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedTestSupport
import HostedTestTraits
import Testing

/// Comparing the files of a store with hash bins with its signed metadata.
@Suite("Verifying a store with bins", .slow, .long)
struct BinVerifyTests {
  private let shop: MaintainedStore

  init() throws {
    shop = try MaintainedStore()
    try shop.addProducts(130, day: 1)
    try shop.publish("book", "1", day: 1)
    try shop.publish(content: "extra", of: "film", "1", day: 1)
    // All bins have the version of this snapshot.
    try shop.store.refresh(everything: true, now: shop.at(2))
  }

  @Test("A whole store has no differences, and every file of its catalog is read once")
  func whole() throws {
    let before = try shop.files()
    var paths: [String] = []
    let result = try shop.store.verify(willRead: { paths.append($0) })
    #expect(result.damages.isEmpty)
    // Four bins and records files, 132 products, the entry of the content, and two versions.
    #expect(result.files == 145 && paths.count == 145)
    let listed = try shop.fetchAll(shop.client(day: 2)).filter {
      !$0.hasSuffix(".targets.json") && !$0.hasSuffix(".snapshot.json")
    }
    #expect(Set(paths) == listed)
    let lengths = try paths.map { try shop.bytes(at: $0).count }
    #expect(result.bytes == Int64(lengths.reduce(0, +)))
    #expect(try shop.files() == before)
  }

  @Test("A damaged or missing bin is one difference, and the other bins are verified")
  func bins() throws {
    let path = try shop.paths(of: "book", day: 2).list
    let bytes = try shop.bytes(at: path)
    let client = try shop.client(day: 2)
    let (list, other) = try (shop.list(of: "book", client), shop.list(of: "film", client))
    // Each of book and film has an archive and an index.
    let packages = list.name == other.name ? 4 : 2
    let unknown = 1 + list.role.targets.count + packages
    try shop.damageFile(at: path)
    let changed = try shop.store.verify()
    #expect(changed.damages.map(\.path) == [path])
    #expect(changed.damages.map(\.rule) == ["changed"])
    #expect(changed.damages.first?.productIdentifier == nil)
    #expect(changed.damages.first?.remedy.contains("repair the store") == true)
    #expect(changed.files == 145 - unknown)
    // Whether the store has the book is unknown.
    #expect(try shop.store.verify(["book"]).damages.map(\.path) == [path])
    try shop.removeFile(at: path)
    let missing = try shop.store.verify()
    #expect(missing.damages.map(\.path) == [path])
    #expect(missing.damages.map(\.rule) == ["missing"])
    try shop.parent(of: path).replaceFile(path.lastPathComponent, with: bytes)
    #expect(try shop.store.verify().damages.isEmpty)
  }

  @Test("A bin under the name of another bin is found")
  func otherBin() throws {
    let version = try #require(shop.client(day: 2).snapshot).version
    try shop.fixture.put([
      "\(version).bin-0.json": shop.fixture.bytes("\(version).bin-1.json")
    ])
    let damages = try shop.store.verify().damages
    #expect(damages.map(\.path) == ["metadata/\(version).bin-0.json"])
    #expect(damages.map(\.rule) == ["changed"])
    #expect(damages.first?.message.contains("another bin") == true)
  }

  @Test("Damaged records, entries of contents and indexes are found, and publishing repairs them")
  func entries() throws {
    let record = try shop.paths(of: "book", day: 2).record
    let entry = try shop.paths(of: "extra", day: 2).record
    let index = try #require(
      shop.files().first { $0.hasPrefix("targets/book/1/") && $0.hasSuffix(".index") })
    for path in [record, entry, index] { try shop.damageFile(at: path) }
    // The records file has the lost record, so the index is known.
    let result = try shop.store.verify()
    #expect(Set(result.damages.map(\.path)) == [record, entry, index])
    #expect(result.damages.allSatisfy { $0.rule == "changed" } && result.files == 145)
    let content = try #require(result.damages.first { $0.path == entry })
    #expect(content.productIdentifier == "film" && content.contentIdentifier == "extra")
    #expect(content.version == nil && content.remedy.contains("Publish the product again"))
    try shop.store.publish([shop.fixture.folder.path("book-1.pkg")], now: shop.at(3))
    try shop.add("film", day: 3)
    #expect(try shop.store.verify().damages.isEmpty)
  }

  @Test(
    "A damaged or missing records file is found, and a complete refresh repairs it",
    arguments: [false, true])
  func recordsFile(isMissing: Bool) throws {
    let (_, records, record) = try shop.paths(of: "book", day: 2)
    if isMissing { try shop.removeFile(at: records) } else { try shop.damageFile(at: records) }
    let result = try shop.store.verify()
    #expect(result.damages.map(\.path) == [records] && result.files == 145)
    #expect(result.damages.map(\.rule) == [isMissing ? "missing" : "changed"])
    #expect(result.damages.first?.productIdentifier == nil)
    #expect(result.damages.first?.remedy.contains("Refresh everything") == true)
    try shop.store.refresh(everything: true, now: shop.at(3))
    #expect(try shop.store.verify().damages.isEmpty)

    // Without both files of the record, the archive and the index are unknown.
    for path in [records, record] { try shop.removeFile(at: path) }
    let lost = try shop.store.verify()
    #expect(lost.damages.map(\.path) == [records, record] && lost.files == 143)
  }

  @Test("A signed records file without the record of a product is found")
  func incompleteRecords() throws {
    let list = try shop.list(of: "book", shop.client(day: 2))
    let digest = try #require(list.products["book"]?.digest)
    try shop.sign(bits: 2, day: 3) { $0.records[digest] = nil }
    let damages = try shop.store.verify().damages
    #expect(damages.map(\.rule) == ["inconsistent"])
    #expect(damages.first?.path?.hasSuffix(".records.jsonl") == true)
    #expect(damages.first?.message.contains("book") == true)
  }

  @Test("For named products, only the files of their bins are read")
  func named() throws {
    let list = try shop.paths(of: "book", day: 2).list
    let denied = FileSystem { operation, path in
      let isOtherBin = path.contains(".bin-") && !path.hasSuffix(list)
      if operation == .open, isOtherBin || path.hasSuffix(".records.jsonl") {
        throw SystemFailure(EACCES)
      }
    }
    let store = try shop.fixture.open(fileSystem: denied)
    let book = try store.verify(["book"])
    // The bin, the record, the archive and the index.
    #expect(book.damages.isEmpty && book.files == 4)
    // Three bins, and the records file of the other one.
    let all = try store.verify()
    #expect(all.damages.compactMap(\.rule) == Array(repeating: "unreadable", count: 4))
  }

  @Test("The entry of a content belongs to its product")
  func contents() throws {
    let path = try shop.paths(of: "extra", day: 2).record
    try shop.damageFile(at: path)
    #expect(try shop.store.verify(["film"]).damages.map(\.path) == [path])
    #expect(try shop.store.verify(["book", "product-1"]).damages.isEmpty)
    #expect(code { _ = try shop.store.verify(["extra"]) } == .productUnknown)
    #expect(code { _ = try shop.store.verify(["book", "none"]) } == .productUnknown)
  }
}
