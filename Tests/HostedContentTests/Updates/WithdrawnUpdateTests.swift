import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedTestTraits
import Testing

/// Updates from a version that the store has withdrawn, such as 9.9 instead of 1.9.
@Suite("Updates from withdrawn versions", .timeLimit(.hang))
struct WithdrawnUpdateTests {
  private let fixture: StoreFixture
  private let queue: PaymentQueue
  private let a = ProductIdentifier("a")

  /// Installs 9.9.
  init() async throws {
    fixture = try StoreFixture()
    queue = try fixture.queue()
    for version in ["1.8", "9.9"] { try fixture.publish("a", version) }
    _ = try await queue.deliver(Payment(productIdentifier: a))
  }

  private func withdraw() throws { try fixture.store.withdraw(a, version: "9.9") }

  private func installed() throws -> [String] {
    try fixture.reader().contents().map {
      "\($0.content.version)\($0.isCurrent ? " current" : "")"
    }
  }

  private func check(_ policy: UpdateMonitor.Policy = .automatic) async throws
    -> UpdateMonitor.Check
  {
    try await UpdateMonitor(queue, policy: policy).check()
  }

  @Test("The lower version is an update, not a downgrade, and becomes current")
  func automatic() async throws {
    try withdraw()
    try fixture.publish("a", "1.9.1")
    let first = try await check()
    #expect(first.updates.map(\.installed.rawValue) == ["9.9"])
    #expect(first.updates.map(\.offered.rawValue) == ["1.9.1"])
    #expect(first.installed.count == 1)
    #expect(first.downgrades.isEmpty)
    try fixture.expectInstalled("a", "1.9.1")
    try fixture.expectInstalled("a", "9.9", isCurrent: false)
    let second = try await check()
    #expect(second.updates.isEmpty && second.downgrades.isEmpty)
    // Later versions are compared with the current one, not with the withdrawn one.
    try fixture.publish("a", "1.10")
    #expect(try await check().updates.map(\.installed.rawValue) == ["1.9.1"])
    try fixture.expectInstalled("a", "1.10")
    #expect(queue.transactions.isEmpty)
  }

  @Test("Until another version is published, the newest offered one replaces it")
  func offeredBefore() async throws {
    // The queue has read the catalog before, and the offered version was in it.
    try withdraw()
    #expect(try await check().installed.map(\.offered.rawValue) == ["1.8"])
    try fixture.expectInstalled("a", "1.8")
  }

  @Test("If no version is offered, the withdrawn one stays")
  func nothingOffered() async throws {
    try withdraw()
    try fixture.store.retire(a, version: "1.8")
    let found = try await check()
    #expect(found.updates.isEmpty && found.downgrades.isEmpty)
    try fixture.expectInstalled("a", "9.9")
  }

  @Test("Readers see the update too")
  func reader() async throws {
    try withdraw()
    try fixture.publish("a", "1.9.1")
    let products = try await queue.products(["a"]).products
    #expect(products.map(\.withdrawnVersions) == [[a: ["9.9"]]])
    let updates = try fixture.reader().updates(of: products)
    #expect(updates.map(\.offered.rawValue) == ["1.9.1"])
    let measured = try fixture.reader().updates(
      of: products, from: StoreReader(StoreLocation(fixture.storePath)))
    #expect(measured.map(\.measuringError) == [nil])
    #expect(measured.allSatisfy { $0.bytesToMove <= $0.bytesInFull })
  }

  @Test("A purchase of the lower version replaces the withdrawn one")
  func purchase() async throws {
    try withdraw()
    try fixture.publish("a", "1.9.1")
    _ = try await queue.deliver(Payment(productIdentifier: a))
    try fixture.expectInstalled("a", "1.9.1")
  }

  @Test("An update that was journaled before a restart replaces the withdrawn version")
  func restart() async throws {
    try withdraw()
    try fixture.publish("a", "1.9.1")
    let update = try #require(try await queue.availableUpdates().first)
    let observer = RecordingObserver(of: queue)
    try await queue.add(update)
    // What is reported is journaled.
    await observer.wait { $0.downloads.count == 1 }
    queue.close()
    let next = try fixture.queue()
    let transaction = try #require(next.transactions.first)
    _ = try await next.install(transaction)
    try await next.finish(transaction)
    try fixture.expectInstalled("a", "1.9.1")
  }

  @Test("Download only: it is installed beside the withdrawn version, until it is used")
  func downloadOnly() async throws {
    try withdraw()
    try fixture.publish("a", "1.9.1")
    #expect(try await check(.downloadOnly).installed.count == 1)
    try fixture.expectInstalled("a", "9.9")
    try fixture.expectInstalled("a", "1.9.1", isCurrent: false)
    let second = try await check(.downloadOnly)
    #expect(second.updates.map(\.offered.rawValue) == ["1.9.1"])
    #expect(second.installed.isEmpty)
    try await queue.use("1.9.1", of: a)
    #expect(try await check(.downloadOnly).updates.isEmpty)
    try fixture.expectInstalled("a", "1.9.1")
  }

  @Test("An old download of the withdrawn version is replaced at the next check")
  func oldDownload() async throws {
    try await queue.remove(a, version: "9.9")
    let old = try await queue.purchase(Payment(productIdentifier: a))
    try withdraw()
    try fixture.publish("a", "1.9.1")
    _ = try await queue.deliver(Payment(productIdentifier: a))
    try fixture.expectInstalled("a", "1.9.1")
    // Its offer is from before the withdrawal.
    _ = try await queue.install(old)
    try await queue.finish(old)
    try fixture.expectInstalled("a", "9.9")
    let found = try await check()
    #expect(found.updates.map(\.installed.rawValue) == ["9.9"])
    #expect(found.installed.count == 1)
    try fixture.expectInstalled("a", "1.9.1")
  }

  @Test("A collection removes the withdrawn version after the update, unless it is pinned")
  func collect() async throws {
    try withdraw()
    try fixture.publish("a", "1.9.1")
    _ = try await check()
    try await queue.setPin(true, on: a, version: "9.9")
    #expect(try await queue.collect().removed.isEmpty)
    #expect(try installed() == ["1.9.1 current", "9.9"])
    try await queue.setPin(false, on: a, version: "9.9")
    #expect(try await queue.collect().removed.map(\.version.rawValue) == ["9.9"])
    #expect(try installed() == ["1.9.1 current"])
  }

  @Test("A service that is not the catalog cannot withdraw a version")
  func service() async throws {
    let offer = ContentOffer(a, version: "1.8", of: a)
    let product = Product(
      productIdentifier: a, type: .nonConsumable, texts: [:], price: nil, contents: [offer],
      withdrawnVersions: [a: ["9.9"]])
    let service = ScriptedService([product])
    _ = service.grant(a, "earlier")
    queue.close()
    let other = try fixture.queue { $0.service = service }
    // The version exists, so it is installed, but only the signed catalog makes it current.
    _ = try await UpdateMonitor(other, policy: .automatic).check()
    try fixture.expectInstalled("a", "9.9")
    other.close()
  }

  @Test("The JSON of a product and of an offer has withdrawn versions only if there are any")
  func json() async throws {
    let before = try #require(try await queue.products(["a"]).products.first)
    let text = String(decoding: try JSONEncoder().encode(before), as: UTF8.self)
    #expect(!text.contains("withdrawn"))
    #expect(try JSONDecoder().decode(Product.self, from: Data(text.utf8)) == before)
    try withdraw()
    let after = try #require(try await queue.products(["a"]).products.first)
    #expect(after.contents.map(\.withdrawnVersions) == [["9.9"]])
    #expect(try JSONDecoder().decode(Product.self, from: JSONEncoder().encode(after)) == after)
  }
}
