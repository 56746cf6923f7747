import HostedModel
import Foundation
import HostedContent
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

/// A service names contents; the signed catalog provides their details.
@Suite("Contents that a service names", .timeLimit(.hang))
struct SignedContentTests {
  private let fixture: StoreFixture
  private let service = ScriptedService()
  private let a = ProductIdentifier("a")

  init() throws { fixture = try StoreFixture(publishing: "a", "1.0") }

  /// How a content is added to the queue.
  enum Way: CaseIterable, Sendable { case purchase, decision, restore, event }

  /// A service's offer of a content, with other bytes than the store's.
  private func claim(_ content: String, _ version: String, of product: String? = nil) throws
    -> ContentOffer
  {
    let digest = try #require(Digest(bytes: [UInt8](repeating: 9, count: 32)))
    let file = SignedFile(path: "targets/\(content)/forged", length: 7, digest: digest)
    return ContentOffer(
      productIdentifier: try ProductIdentifier(validating: product ?? content),
      contentIdentifier: try ProductIdentifier(validating: content),
      version: try ContentVersion(validating: version),
      installedSize: 1, package: file, index: file)
  }

  /// Adds `contents` to `queue` for product a; returns the transaction as first reported.
  private func take(
    _ contents: [ContentOffer], by way: Way = .purchase, _ queue: PaymentQueue
  ) async throws -> PaymentTransaction {
    let observer = RecordingObserver(of: queue)
    let payment = Payment(productIdentifier: a)
    let product = Product(
      productIdentifier: a, type: .nonConsumable, texts: [:], price: nil,
      contents: contents)
    service.offer(product)
    switch way {
    case .purchase: queue.add(payment)
    case .decision:
      service.answer(a, .deferred)
      let id = queue.add(payment)
      await observer.wait { $0.transactionStates[id]?.last == .deferred }
      let outcome = PurchaseOutcome.purchased(Grant(id.rawValue, payment), contents: contents)
      service.send(.answered(transaction: id, outcome))
    case .restore:
      _ = service.grant(a, "earlier")
      queue.restoreCompletedTransactions()
    case .event:
      service.send(.granted(Grant("elsewhere", payment), contents: contents))
    }
    let ends: [TransactionState] = [.purchased, .restored, .failed]
    await observer.wait { log in
      log.transactions.values.contains { ends.contains($0.transactionState) }
    }
    let transaction = try #require(observer.log.transactions.values.first)
    #expect(transaction.transactionState == (way == .restore ? .restored : .purchased))
    #expect(transaction.error == nil)
    queue.remove(observer)
    return transaction
  }

  private func queue() throws -> PaymentQueue { try fixture.queue { $0.service = service } }

  /// Starts the downloads again and expects one to fail with `code`.
  private func expectFailure(
    _ code: ContentError.Code, _ transaction: PaymentTransaction, _ queue: PaymentQueue
  ) async throws {
    let error = await #expect(throws: ContentError.self) { try await queue.install(transaction) }
    #expect(error?.code == code, "\(error as Any)")
  }

  @Test(arguments: Way.allCases)
  func `lengths and digests come from the catalog, not from the service`(way: Way)
    async throws
  {
    let queue = try queue()
    let transaction = try await take([claim("a", "1.0")], by: way, queue)
    let download = try #require(transaction.downloads.first)
    #expect(download.expectedContentLength > 7)
    _ = try await queue.install(transaction)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test(arguments: Way.allCases)
  func `a version that is no longer offered is replaced by the newest`(way: Way) async throws {
    try fixture.publish("a", "1.1")
    let queue = try queue()
    let transaction = try await take([claim("a", "0.9")], by: way, queue)
    #expect(transaction.downloads.map(\.contentVersion.rawValue) == ["1.1"])
    _ = try await queue.install(transaction)
    try fixture.expectInstalled("a", "1.1")
  }

  @Test func `a version that was published since the last look-up is found`() async throws {
    let queue = try queue()
    _ = try await queue.install(take([claim("a", "1.0")], queue))
    try fixture.publish("a", "1.1")
    let observer = RecordingObserver(of: queue)
    let grant = Grant("next", Payment(productIdentifier: a))
    service.send(.granted(grant, contents: [try claim("a", "1.1")]))
    await observer.wait { log in
      log.transactions.values.contains { $0.transactionIdentifier == "next" }
    }
    let next = observer.log.transactions.values.first { $0.transactionIdentifier == "next" }
    _ = try await queue.install(try #require(next))
    try fixture.expectInstalled("a", "1.1")
  }

  @Test(.slow, arguments: Way.allCases)
  func `a content missing in the catalog fails, and can be started once it is published`(
    way: Way
  ) async throws {
    var queue = try queue()
    var transaction = try await take(
      [claim("a", "1.0"), claim("extra", "1.0", of: "a")], by: way, queue)
    #expect(transaction.downloads.map(\.state) == [.waiting, .failed])
    #expect(transaction.downloads.last?.error?.code == .answerMismatch)
    #expect(transaction.downloads.last?.error?.message.contains("extra") == true)
    try await expectFailure(.answerMismatch, transaction, queue)
    queue.close()
    // Even after a restart, and in a version that the service did not name.
    try fixture.publish("extra", "2.0", of: "a")
    queue = try self.queue()
    let observer = RecordingObserver(of: queue)
    await observer.wait { !$0.transactions.isEmpty }
    transaction = try #require(observer.log.transactions.values.first)
    let folders = try await queue.install(transaction)
    #expect(Set(folders.map(\.lastPathComponent)) == ["1.0", "2.0"])
    try fixture.expectInstalled("a", "1.0")
    try fixture.expectInstalled("extra", "2.0")
    try await queue.finish(transaction)
    #expect(try fixture.staged().isEmpty)
  }

  @Test(.slow, arguments: Way.allCases, [true, false])
  func `another product's content is not delivered`(way: Way, isSaidToBeOfTheOrder: Bool)
    async throws
  {
    try fixture.publish("b", "1.0")
    let queue = try queue()
    let content = try claim("b", "1.0", of: isSaidToBeOfTheOrder ? "a" : "b")
    let transaction = try await take([content], by: way, queue)
    #expect(transaction.downloads.map(\.state) == [.failed])
    try await expectFailure(.answerMismatch, transaction, queue)
    #expect(try fixture.reader().contents().isEmpty)
    try await queue.finish(transaction)
    #expect(queue.transactions.isEmpty)
  }

  @Test func `an unreachable catalog is an error of the download, which continues later`()
    async throws
  {
    let away = fixture.folder.path("away")
    try FileManager.default.moveItem(atPath: fixture.storePath, toPath: away)
    let queue = try queue()
    let transaction = try await take([claim("a", "1.0")], queue)
    #expect(transaction.downloads.first?.error?.code == .storeMissing)
    try await expectFailure(.storeMissing, transaction, queue)
    try FileManager.default.moveItem(atPath: away, toPath: fixture.storePath)
    _ = try await queue.install(transaction)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test func `an update installs only the version in the catalog`() async throws {
    let queue = try queue()
    _ = try await queue.install(take([claim("a", "1.0")], queue))
    try fixture.publish("a", "1.1")
    for (version, isOffered) in [("9.9", false), ("1.1", true)] {
      service.offer(
        Product(
          productIdentifier: a, type: .nonConsumable, texts: [:], price: nil,
          contents: [try claim("a", version)]))
      let update = try #require(try await queue.availableUpdates().first)
      if isOffered {
        _ = try await queue.deliver(update)
      } else {
        let error = await #expect(throws: ContentError.self) { try await queue.deliver(update) }
        #expect(error?.code == .productUnknown)
      }
    }
    try fixture.expectInstalled("a", "1.1")
  }

  @Test func `a repair uses the offer in the catalog`() async throws {
    let queue = try queue()
    _ = try await queue.install(take([claim("a", "1.0")], queue))
    let content = try #require(try fixture.reader().contents().first)
    let path = content.url.appending(path: "Contents/text.txt").path
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    try Data("damaged".utf8).write(to: URL(filePath: path))
    _ = try await queue.repair(content.content)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test(arguments: ["no root", "root", "first use"])
  func `on the web a catalog needs a trusted root`(trust: String) async throws {
    let server = try fixture.server()
    defer { server.stop() }
    let queue = try fixture.queue(at: server.url) {
      $0.service = service
      if trust != "root" { $0.trustedRoot = nil }
      $0.trustsOnFirstUse = trust == "first use"
    }
    let transaction = try await take([claim("a", "1.0")], queue)
    let length = try #require(transaction.downloads.first?.expectedContentLength)
    #expect((length == 7) == (trust == "no root"))
    queue.close()
  }

  @Test func `without a catalog the service is trusted, but only for contents of the order`()
    async throws
  {
    let looking = try fixture.queue { $0.library = URL(filePath: fixture.folder.path("looking")) }
    let offer = try #require(try await looking.products(["a"]).products.first?.contents.first)
    looking.close()
    for name in try FileManager.default.contentsOfDirectory(atPath: "\(fixture.storePath)/metadata")
    {
      try FileManager.default.removeItem(atPath: "\(fixture.storePath)/metadata/\(name)")
    }
    let queue = try queue()
    let transaction = try await take([offer, claim("b", "1.0")], queue)
    #expect(transaction.downloads.map(\.state) == [.waiting, .failed])
    try await expectFailure(.answerMismatch, transaction, queue)
    let installed = try await transaction.downloads[0].isInstalled
    #expect(installed)
    try fixture.expectInstalled("a", "1.0")
  }
}

extension Download {
  /// Whether it ends installed.
  fileprivate var isInstalled: Bool {
    get async throws {
      for await update in updates() where update.state == .finished { return true }
      return false
    }
  }
}
