import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// What `status` says about a store.
@Suite("The status of a store", .long)
struct StoreStatusTests {
  private let shop: MaintainedStore

  init() throws { shop = try MaintainedStore() }

  private func codes(_ status: StoreStatus) -> [ContentError.Code] { status.attention.map(\.code) }

  @Test("A new publication needs no attention, and its sizes are those of the files")
  func fine() throws {
    try shop.publish("book", "1", day: 1)
    let before = try shop.files()
    let status = try shop.store.status(now: shop.at(2))
    #expect(status.attention.isEmpty && status.dueRoles.isEmpty && status.missingFiles.isEmpty)
    #expect(status.record == .current)
    #expect(status.products.map(\.record.productIdentifier.rawValue) == ["book"])
    #expect(status.roles.map(\.role) == [.root, .targets, .snapshot, .timestamp])
    #expect(status.roles.map(\.version) == [1, 2, 2, 2])
    #expect(status.roles.last?.expires == shop.at(91))
    for role in status.roles {
      #expect(!role.isExpired && role.keys.canSign && role.keys.missing.isEmpty)
      #expect(role.keys.listed == 1 && role.keys.required == 1 && role.keys.present == 1)
    }
    let sizes = status.sizes
    #expect(sizes.archives == status.products.first?.versions.first?.length)
    #expect(sizes.indexes > 0 && sizes.records > 0)
    #expect(sizes.targets == sizes.archives + sizes.indexes + sizes.records)
    let metadata = try shop.fixture.metadata
    let bytes = try metadata.entries().reduce(Int64(0)) {
      try $0 + (metadata.status(of: $1.name)?.size ?? 0)
    }
    #expect(sizes.metadata == bytes)
    #expect(try shop.files() == before)
    #expect(code { _ = try shop.store.status(keepDays: 0, now: shop.at(2)) } == .usage)
  }

  @Test("A due refresh and expired metadata need attention, until the store is refreshed")
  func expiry() throws {
    // The timestamp is valid for 90 days.
    #expect(try shop.store.status(now: shop.at(44)).dueRoles.isEmpty)
    let due = try shop.store.status(now: shop.at(46))
    #expect(due.dueRoles == [.timestamp])
    #expect(due.attention.map(\.message).allSatisfy { $0.contains("renewed now") })
    #expect(codes(due) == [.metadataExpired])
    let expired = try shop.store.status(now: shop.at(90))
    #expect(expired.roles.map(\.isExpired) == [false, false, false, true])
    #expect(codes(expired) == [.metadataExpired])
    try shop.store.refresh(now: shop.at(90))
    #expect(try shop.store.status(now: shop.at(90)).attention.isEmpty)
    let old = try shop.store.status(now: shop.at(185))
    #expect(old.dueRoles == [.targets, .snapshot, .timestamp])
    #expect(try shop.store.refresh(now: shop.at(185)).roles == old.dueRoles)
  }

  @Test("Without root keys, the root needs attention only in its last 60 days")
  func root() throws {
    let keys = try FileSystem.real.directory(at: shop.fixture.folder.path("store.keys"))
    let renewed = { (day: Double) in
      try shop.store.refresh(now: shop.at(day))
      return try shop.store.status(now: shop.at(day))
    }
    #expect(try shop.store.status(now: shop.at(3_400)).dueRoles.first == .root)
    try keys.directory("root").removeFile("root.pem")
    #expect(try renewed(3_400).attention.isEmpty)
    let late = try renewed(3_600)
    #expect(codes(late) == [.metadataExpired])
    #expect(late.attention.first?.remedy.contains("0 of the 1 required root keys") == true)
  }

  @Test("Without keys, the status is the same, and each missing key is named")
  func keys() throws {
    try shop.add("club", day: 1)
    let keys = try FileSystem.real.directory(at: shop.fixture.folder.path("store.keys"))
    try keys.removeFile("targets.pem")
    let status = try shop.store.status(now: shop.at(2))
    let root = try TrustedMetadata(root: shop.store.initialRoot()).root
    #expect(status.roles.map(\.keys.present) == [1, 0, 1, 1])
    #expect(
      status.roles[1].keys.missing == root.publicKeys(of: .targets).map(\.identifier))
    try shop.fixture.folder.opened().removeTree("store.keys")
    let bare = try shop.store.status(now: shop.at(2))
    #expect(bare.roles.map(\.keys.present) == [0, 0, 0, 0])
    #expect(bare.record == .unavailable && bare.attention.isEmpty)
    #expect(bare.products == status.products && bare.sizes == status.sizes)
  }

  @Test("Encrypted keys count as unreadable without their passphrase")
  func encrypted() throws {
    let passphrase = Array("secret".utf8)
    let shop = try MaintainedStore(StoreKeyOptions(passphrase: passphrase))
    let closed = try shop.fixture.open().status(now: shop.at(1))
    #expect(closed.roles.map(\.keys.unreadable) == [1, 1, 1, 1])
    #expect(closed.roles.map(\.keys.present) == [0, 0, 0, 0])
    #expect(closed.attention.isEmpty)
    #expect(try shop.store.status(now: shop.at(1)).roles.map(\.keys.present) == [1, 1, 1, 1])
  }

  @Test("A store that is older or newer than its publication record needs attention")
  func record() throws {
    let keys = try FileSystem.real.directory(at: shop.fixture.folder.path("store.keys"))
    let earlier = try keys.contents(of: "published.json", limit: 1 << 16)
    let old = try shop.fixture.bytes("timestamp.json")
    try shop.add("club", day: 1)
    let recorded = try keys.contents(of: "published.json", limit: 1 << 16)
    try keys.replaceFile("published.json", with: earlier, mode: 0o600)
    let newer = try shop.store.status(now: shop.at(2))
    #expect(newer.record == .older)
    #expect(codes(newer) == [.storeDamaged])
    try keys.replaceFile("published.json", with: recorded, mode: 0o600)
    try shop.fixture.put(["timestamp.json": old])
    let older = try shop.store.status(now: shop.at(2))
    #expect(older.record == .newer)
    #expect(codes(older) == [.storeRolledBack])
    #expect(older.products.isEmpty && older.dueRoles.isEmpty)
  }

  @Test("A missing or shortened file of the catalog needs attention")
  func missing() throws {
    try shop.publish("book", "1", day: 1)
    let folder = try FileSystem.real.directory(at: "\(shop.fixture.storePath)/targets/book/1")
    let names = try folder.entries().map(\.name).sorted()
    for name in names where name.hasSuffix(".pkg") { try folder.removeFile(name) }
    for name in names where name.hasSuffix(".index") { try folder.replaceFile(name, with: [1]) }
    let status = try shop.store.status(now: shop.at(2))
    #expect(status.missingFiles == names.map { "targets/book/1/\($0)" })
    #expect(codes(status) == [.storeDamaged])
    #expect(status.attention.first?.message.contains("2 files") == true)
    let path = shop.fixture.folder.path("book-1.pkg")
    try shop.store.publish([path], now: shop.at(2))
    #expect(try shop.store.status(now: shop.at(2)).attention.isEmpty)
  }

  @Test("A lost record is read from the records file; without both, its product is not listed")
  func lostRecord() throws {
    for product in ["book", "club"] { try shop.add(product, day: 1) }
    let (_, records, record) = try shop.paths(of: "book", day: 1)
    try shop.removeFile(at: record)
    let status = try shop.store.status(now: shop.at(2))
    #expect(status.missingFiles == [record] && codes(status) == [.storeDamaged])
    #expect(status.products.count == 2)
    try shop.removeFile(at: records)
    let lost = try shop.store.status(now: shop.at(2))
    #expect(lost.missingFiles == [record, records].sorted())
    #expect(codes(lost) == [.storeDamaged, .storeDamaged])
    #expect(lost.products.map(\.record.productIdentifier.rawValue) == ["club"])
    #expect(lost.attention.last?.subject == "book")
  }

  @Test("The status says what can be pruned, and names unknown files")
  func prunable() throws {
    try shop.add("club", day: 1)
    try shop.fixture.put(["notes.txt": [1]])
    let status = try shop.store.status(keepDays: 5, now: shop.at(10))
    #expect(
      status.prunable.files.map(\.path) == ["metadata/1.snapshot.json", "metadata/1.targets.json"])
    #expect(status.prunable.unknown == ["metadata/notes.txt"])
    #expect(try shop.store.prune(keepDays: 5, now: shop.at(10)) == status.prunable)
  }

  @Test("Damaged metadata is an error, and the error names the file")
  func damaged() throws {
    try shop.fixture.put(["1.snapshot.json": [1]])
    let error = #expect(throws: ContentError.self) { try shop.store.status(now: shop.at(1)) }
    #expect(error?.subject?.hasSuffix("metadata/1.snapshot.json") == true)
  }
}
