import HostedModel
import ContentStore
import HostedTrust
import HostedDigests
import HostedFileIO
import FoundationEssentials
import Glibc
import HostedTestSupport
import HostedTestTraits
import Testing

/// Comparing a store's files with its signed metadata.
@Suite("Verifying a store", .long)
struct StoreVerifyTests {
  private let shop: MaintainedStore

  init() throws {
    shop = try MaintainedStore()
    try shop.publish("book", "1", day: 1)
    try shop.publish("book", "2", day: 1)
    try shop.publish("film", "1", day: 1)
    try shop.add("club", day: 1)
  }

  private func folder(_ path: String) throws -> Directory {
    try FileSystem.real.directory(at: "\(shop.fixture.storePath)/targets/\(path)")
  }

  /// Returns the folder and the name of the file in `path` that ends in `suffix`.
  private func file(_ suffix: String, in path: String) throws -> (Directory, name: String) {
    let folder = try folder(path)
    return (folder, try #require(folder.entries().map(\.name).first { $0.hasSuffix(suffix) }))
  }

  /// Signs a catalog in which `change` was made to the record of `product`, as a publisher with an
  /// error would.
  private func signRecord(of product: ProductIdentifier, _ change: (inout CatalogRecord) -> Void)
    throws
  {
    var record = try #require(try shop.catalog(shop.client(day: 1)).record(of: product))
    change(&record)
    let bytes = try record.json
    try shop.sign(day: 1) { try $0.setRecord(of: product, to: bytes) }
  }

  /// Signs a catalog in which the index of version 2 of the book is `bytes`.
  private func signIndex(_ bytes: [UInt8]) throws {
    let digest = try Digest(of: bytes)
    let name = "\(digest.hex).content.index"
    try folder("book/2").replaceFile(name, with: bytes)
    let index = SignedFile(
      path: "targets/book/2/\(name)", length: Int64(bytes.count), digest: digest)
    try signRecord(of: "book") { record in
      let offer = record.offers[0]
      record.add(
        ContentOffer(
          productIdentifier: "book", contentIdentifier: "book", version: offer.version,
          installedSize: offer.installedSize, package: offer.package, index: index))
    }
  }

  @Test("A whole store has no differences, and verifying it changes nothing")
  func whole() throws {
    let before = try shop.files()
    let result = try shop.store.verify()
    // Three versions with archive and index, three records, and the file of all records.
    #expect(result.files == 10 && result.damages.isEmpty)
    let sizes = try shop.store.status(now: shop.at(1)).sizes
    let records = try #require(shop.list(of: "book", shop.client(day: 1)).role.details).length
    #expect(result.bytes == sizes.archives + sizes.indexes + sizes.records + records)
    #expect(try shop.files() == before)
    try shop.fixture.folder.opened().removeTree("store.keys")
    #expect(try shop.store.verify() == result)
  }

  @Test("Each missing or changed file is named with product, version, problem and remedy")
  func damaged() throws {
    let (first, archive) = try file(".content.pkg", in: "book/1")
    try first.removeFile(archive)
    let (second, index) = try file(".content.index", in: "book/2")
    var bytes = try second.contents(of: index, limit: 1 << 20)
    bytes[bytes.count / 2] ^= 1
    try second.replaceFile(index, with: bytes)
    let (third, record) = try file(".product.json", in: "film")
    try third.replaceFile(record, with: [1, 2])
    var found: [Finding] = []
    let result = try shop.store.verify(didFind: { found.append($0) })
    #expect(result.files == 10 && result.damages == found)
    // The newest version is first.
    #expect(
      found.map(\.path) == [
        "targets/book/2/\(index)", "targets/book/1/\(archive)", "targets/film/\(record)",
      ])
    #expect(Set(found.map(\.rule)) == ["missing", "changed"])
    #expect(found.map { $0.version?.rawValue } == ["2", "1", nil])
    #expect(found.map { $0.productIdentifier?.rawValue } == ["book", "book", "film"])
    #expect(found.allSatisfy { !$0.message.isEmpty && $0.remedy.contains("ublish") })
    let list = try shop.list(of: "film", shop.client(day: 1))
    let length = try #require(list.products["film"]).length
    #expect(found.last?.message == "it has 2 bytes instead of \(length)")
    let paths = ["book-1.pkg", "book-2.pkg"].map { shop.fixture.folder.path($0) }
    try shop.store.publish(paths, now: shop.at(2))
    try shop.add("film", day: 2)
    #expect(try shop.store.verify().damages.isEmpty)
  }

  @Test("Only the named products are verified, and an unknown one is an error")
  func named() throws {
    let (folder, archive) = try file(".content.pkg", in: "book/1")
    try folder.removeFile(archive)
    #expect(try shop.store.verify(["film", "club"]).damages.isEmpty)
    #expect(try shop.store.verify(["film"]).files == 3)
    #expect(try shop.store.verify(["book"]).damages.count == 1)
    #expect(code { _ = try shop.store.verify(["film", "none"]) } == .productUnknown)
  }

  @Test("An index that does not describe its archive is found, although it is signed")
  func inconsistent() throws {
    let (one, index) = try file(".content.index", in: "book/1")
    let other = try one.contents(of: index, limit: 1 << 20)
    let wrong: [(bytes: [UInt8], reason: String)] = [
      ([1, 2, 3], "Cannot read the index"), (other, "other"),
    ]
    for (bytes, reason) in wrong {
      try signIndex(bytes)
      let damages = try shop.store.verify().damages
      #expect(damages.map(\.rule) == ["inconsistent"])
      #expect(damages.first?.version?.rawValue == "2")
      #expect(damages.first?.message.contains(reason) == true, "\(damages)")
      #expect(damages.first?.remedy.contains("higher version") == true)
    }
  }

  @Test("A signed record that cannot be read is found")
  func record() throws {
    try shop.sign(day: 1) { try $0.setRecord(of: "club", to: [1, 2, 3]) }
    let damages = try shop.store.verify().damages
    #expect(damages.map(\.rule) == ["inconsistent"])
    #expect(damages.first?.productIdentifier == "club" && damages.first?.version == nil)
  }

  @Test("A record with a content of another product is found")
  func claimed() throws {
    try signRecord(of: "film") { record in
      let offer = record.offers[0]
      record.add(
        ContentOffer(
          productIdentifier: "film", contentIdentifier: "book", version: offer.version,
          installedSize: offer.installedSize, package: offer.package, index: offer.index))
    }
    let damages = try shop.store.verify().damages
    #expect(damages.map(\.rule) == ["inconsistent"])
    #expect(damages.first?.productIdentifier == "film")
    #expect(damages.first?.message.contains("book") == true)
  }

  @Test("A damaged records file is found, unless only some products are verified")
  func records() throws {
    let path = try shop.paths(of: "book", day: 1).records
    try shop.damageFile(at: path)
    let damages = try shop.store.verify().damages
    #expect(damages.map(\.path) == [path] && damages.map(\.rule) == ["changed"])
    #expect(try shop.store.verify(["book", "film", "club"]).damages.isEmpty)
  }

  @Test("A new store has no differences, although it has no records file")
  func new() throws {
    let shop = try MaintainedStore()
    let result = try shop.store.verify()
    #expect(result.files == 0 && result.damages.isEmpty)
    // Root, targets, snapshot and timestamp.
    #expect(try shop.files().count == 4)
  }

  @Test("A file that cannot be read is one difference, and the others are verified")
  func unreadable() throws {
    let (folder, archive) = try file(".content.pkg", in: "book/1")
    try folder.removeFile(archive)
    try folder.createLink(archive, to: "/etc/passwd")
    let denied = FileSystem { operation, path in
      if operation == .open, path.contains("/film/1/"), path.hasSuffix(".pkg") {
        throw SystemFailure(EACCES)
      }
    }
    let result = try shop.fixture.open(fileSystem: denied).verify()
    #expect(result.files == 10)
    #expect(result.damages.map(\.rule) == ["unreadable", "unreadable"])
  }

  @Test("Damaged or older metadata is an error, not a difference")
  func metadata() throws {
    let old = try shop.fixture.bytes("timestamp.json")
    try shop.add("later", day: 2)
    try shop.fixture.put(["timestamp.json": old])
    #expect(code { _ = try shop.store.verify() } == .storeRolledBack)
    try shop.fixture.put(["timestamp.json": [1]])
    #expect(code { _ = try shop.store.verify() } == .metadataDamaged)
  }

  @Test("A caller can end the verification before any file")
  func stopped() throws {
    var paths: [String] = []
    let stop = ContentError(.stopped, "The test stops", remedy: "It is a test")
    let found = code {
      _ = try shop.store.verify(willRead: { path in
        paths.append(path)
        if paths.count == 3 { throw stop }
      })
    }
    #expect(found == .stopped)
    #expect(paths.count == 3 && paths.first?.hasSuffix(".records.jsonl") == true)
    #expect(paths.dropFirst().allSatisfy { $0.hasPrefix("targets/") })
  }

  @Test("The rate of reading is limited")
  func rate() throws {
    var time = 0.0
    let throttle = ReadThrottle(bytesPerSecond: 100, now: { time }, sleep: { time += $0 })
    let result = try shop.store.verify(
      [], throttle: throttle, willRead: { _ in }, didFind: { _ in })
    #expect(result.damages.isEmpty)
    // Archives are read more than once.
    #expect(time >= Double(result.bytes) / 100)
  }

  @Test("A rate of less than one byte per second is refused", arguments: [0, -1, Int64.min])
  func invalidRate(rate: Int64) {
    #expect(code { _ = try shop.store.verify(bytesPerSecond: rate) } == .usage)
  }
}
