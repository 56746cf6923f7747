import HostedModel
import ContentStore
import HostedTrust
import HostedFileIO
import FoundationEssentials
import HostedTestSupport
import HostedTestTraits
import Testing

/// What `status` says about a store whose products are in hash bins.
@Suite("The status of a store with bins", .long)
struct BinStatusTests {
  private let shop: MaintainedStore

  init() throws {
    shop = try MaintainedStore()
    try shop.addProducts(130, day: 1)  // catalog 2, with four bins
  }

  @Test("Products, sizes and roles are those of all bins")
  func fine() throws {
    try shop.publish("book", "1", day: 1)
    try shop.publish(content: "extra", of: "film", "1", day: 1)
    let before = try shop.files()
    let status = try shop.store.status(now: shop.at(2))
    #expect(status.attention.isEmpty && status.dueRoles.isEmpty && status.missingFiles.isEmpty)
    #expect(status.record == .current)
    let products = status.products.map(\.record.productIdentifier)
    #expect(products.count == 132 && products == products.sorted())
    #expect(try status.products == shop.store.products())
    // Targets metadata does not change with the products.
    #expect(status.roles.map(\.version) == [1, 2, 4, 4])
    let lengths = status.products.flatMap(\.versions).map(\.length)
    #expect(status.sizes.archives == lengths.reduce(0, +) && lengths.count == 2)
    // Each file of `targets` is listed: 132 records, the entry of the content, and two versions.
    #expect(before.filter { $0.hasPrefix("targets/") }.count == 137)
    #expect(
      status.sizes.targets
        == status.sizes.archives + status.sizes.indexes + status.sizes.records)
    let metadata = try before.filter { $0.hasPrefix("metadata/") }
      .reduce(0) { try $0 + shop.bytes(at: $1).count }
    #expect(status.sizes.metadata == Int64(metadata))
    #expect(try shop.files() == before)
  }

  @Test("Missing and shortened files of every kind need attention", .slow)
  func missing() throws {
    try shop.publish("book", "1", day: 1)
    try shop.publish(content: "extra", of: "film", "1", day: 1)
    let (_, records, record) = try shop.paths(of: "book", day: 1)
    let entry = try shop.paths(of: "extra", day: 1).record
    let archive = try #require(
      shop.files().first { $0.hasPrefix("targets/film/1/extra/") && $0.hasSuffix(".pkg") })
    for path in [entry, record] { try shop.removeFile(at: path) }
    try shop.parent(of: archive).replaceFile(archive.lastPathComponent, with: [1])
    let status = try shop.store.status(now: shop.at(2))
    #expect(status.missingFiles == [archive, record, entry].sorted())
    #expect(status.attention.map(\.code) == [.storeDamaged])
    #expect(status.attention.first?.message.contains("3 files") == true)
    // The records file has the lost record.
    #expect(status.products.count == 132)

    try shop.removeFile(at: records)
    let lost = try shop.store.status(now: shop.at(2))
    #expect(lost.missingFiles == [archive, record, entry, records].sorted())
    #expect(lost.attention.map(\.code) == [.storeDamaged, .storeDamaged])
    #expect(lost.attention.last?.subject == "book")
    let others = lost.products.map(\.record.productIdentifier.rawValue)
    #expect(others.count == 131 && !others.contains("book"))
    #expect(lost.prunable.obstacle?.contains("book") == true)
  }

  @Test("The bin that expires first is when targets expire, and when a refresh is due", .slow)
  func expiry() throws {
    try shop.add("club", day: 100)  // One bin expires on day 465, and the other ones on day 366.
    #expect(try shop.store.status(now: shop.at(183)).roles[1].expires == shop.at(366))
    try shop.store.refresh(now: shop.at(185))
    let refreshed = try shop.store.status(now: shop.at(186))
    #expect(refreshed.attention.isEmpty)
    #expect(refreshed.roles[1].role == .targets && refreshed.roles[1].expires == shop.at(465))
    let due = try shop.store.status(now: shop.at(284))
    #expect(due.dueRoles == [.targets, .snapshot, .timestamp])
    let before = try #require(shop.client(day: 186).snapshot)
    #expect(try shop.store.refresh(now: shop.at(284)).roles == due.dueRoles)
    let after = try #require(shop.client(day: 284).snapshot)
    // Only the bin that was due is signed again.
    let changed = after.files.filter { $0.value != before.files[$0.key] }
    let club = try shop.list(of: "club", shop.client(day: 284)).name.fileName
    #expect(Array(changed.keys) == [club])
    #expect(try shop.store.status(now: shop.at(284)).roles[1].expires == shop.at(550))
  }

  @Test("A damaged or missing bin is an error, and the error names the file")
  func damaged() throws {
    let path = try shop.paths(of: "product-1", day: 1).list
    try shop.damageFile(at: path)
    let error = #expect(throws: ContentError.self) { try shop.store.status(now: shop.at(1)) }
    #expect(error?.group == .trust && error?.subject?.hasSuffix(path) == true)
    try shop.removeFile(at: path)
    let missing = #expect(throws: ContentError.self) { try shop.store.status(now: shop.at(1)) }
    #expect(missing?.code == .storeDamaged && missing?.subject?.hasSuffix(path) == true)
  }
}
