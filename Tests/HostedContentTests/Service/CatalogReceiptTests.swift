import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Receipts of a service, verified with the keys that the store's catalog lists.
@Suite("Receipt keys in the catalog", .timeLimit(.hang))
struct CatalogReceiptTests {
  private let fixture: StoreFixture
  private let service = ScriptedService()
  private let key: ReceiptSigningKey
  private let product = ProductIdentifier("a")
  private let date = Date(timeIntervalSince1970: 1)
  private static let ends: [TransactionState?] = [.purchased, .failed]

  init() throws {
    fixture = try StoreFixture()
    key = try ReceiptSigningKey.generate(.es256)
  }

  private func list(_ key: ReceiptSigningKey, replacing: Bool = false) throws {
    try fixture.store.addReceiptKeys([key.verificationKey], replacing: replacing)
  }

  /// Returns a grant of `product` with a receipt of `key`.
  private func grant(
    _ product: ProductIdentifier, _ number: String, signedBy key: ReceiptSigningKey?
  ) throws -> Grant {
    let receipt = try key?.sign(
      Receipt(
        transactionIdentifier: number, productIdentifier: product, purchaseDate: date,
        signedDate: date))
    return Grant(
      transactionIdentifier: number, date: date, payment: Payment(productIdentifier: product),
      receipt: receipt)
  }

  /// Lets the service sell `product` with a receipt of `key`.
  private func sell(
    _ product: ProductIdentifier, _ number: String, signedBy key: ReceiptSigningKey?
  ) throws {
    let grant = try grant(product, number, signedBy: key)
    service.answer(product, .purchased(grant, contents: []))
  }

  /// Buys the product with a receipt of `key`; returns the error of the transaction.
  private func buy(_ number: String, signedBy key: ReceiptSigningKey?, _ queue: PaymentQueue)
    async throws -> ContentError?
  {
    try sell(product, number, signedBy: key)
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { Self.ends.contains($0.transactionStates[id]?.last) }
    queue.remove(observer)
    return observer.log.transactions[id]?.error
  }

  private func queue(
    _ verifier: ReceiptVerifier? = nil, of other: ScriptedService? = nil
  ) throws -> PaymentQueue {
    try fixture.queue {
      $0.service = other ?? service
      $0.receiptVerifier = verifier
    }
  }

  @Test("A service's receipts must be signed by a listed key; earlier keys count")
  func listed() async throws {
    let earlier = try ReceiptSigningKey.generate()
    try list(earlier)
    try list(key)
    let queue = try queue()
    #expect(try await buy("1", signedBy: key, queue) == nil)
    #expect(try await buy("2", signedBy: earlier, queue) == nil)
    let stranger = try ReceiptSigningKey.generate()
    #expect(try await buy("3", signedBy: nil, queue)?.code == .receiptInvalid)
    #expect(try await buy("4", signedBy: stranger, queue)?.code == .receiptInvalid)
    let store = StoreReader(try StoreLocation(fixture.storePath))
    #expect(
      try await store.receiptKeys() == [earlier.verificationKey, key.verificationKey])
  }

  @Test("If the store lists no keys, receipts are not checked")
  func unlisted() async throws {
    let queue = try queue()
    #expect(try await buy("1", signedBy: nil, queue) == nil)
    #expect(try await StoreReader(StoreLocation(fixture.storePath)).receiptKeys().isEmpty)
  }

  @Test("A key that was listed after the catalog was read is found, and a removed one refused")
  func rotated() async throws {
    try list(try ReceiptSigningKey.generate())
    var queue = try queue()
    #expect(try await buy("1", signedBy: nil, queue)?.code == .receiptInvalid)
    queue.close()
    try list(key, replacing: true)
    // It knows the catalog of the earlier queue.
    queue = try self.queue()
    #expect(try await buy("2", signedBy: key, queue) == nil)
    queue.close()
    try list(try ReceiptSigningKey.generate(), replacing: true)
    queue = try self.queue()
    _ = try await buy("3", signedBy: nil, queue)
    #expect(try await buy("4", signedBy: key, queue)?.code == .receiptInvalid)
  }

  @Test("Several purchases at the same time find a new key")
  func together() async throws {
    try list(try ReceiptSigningKey.generate())
    let first = try queue()
    _ = try await buy("0", signedBy: nil, first)
    first.close()
    try list(key)
    let queue = try queue()
    let observer = RecordingObserver(of: queue)
    let ids = try (1...20).map { number in
      let product = try ProductIdentifier(validating: "a\(number)")
      try sell(product, "\(number)", signedBy: key)
      return queue.add(Payment(productIdentifier: product))
    }
    await observer.wait { log in
      ids.allSatisfy { Self.ends.contains(log.transactionStates[$0]?.last) }
    }
    for id in ids { #expect(observer.log.transactions[id]?.error == nil) }
  }

  @Test func `a list of keys that was not read with its catalog is fetched`() async throws {
    // Enough for a catalog with several lists.
    let products = try (1...130).map { try ProductIdentifier(validating: "p\($0)") }
    try fixture.store.add(
      Dictionary(uniqueKeysWithValues: products.map { ($0, ProductDetails()) }))
    try list(key)
    let first = try queue()
    #expect(try await buy("1", signedBy: key, first) == nil)
    first.close()
    let trust = "\(fixture.libraryPath)/trust"
    let lists = try FileManager.default.contentsOfDirectory(atPath: trust)
      .filter { $0.hasPrefix("bin-") }
    #expect(!lists.isEmpty)
    for name in lists { try FileManager.default.removeItem(atPath: "\(trust)/\(name)") }
    let queue = try queue()
    #expect(try await buy("2", signedBy: key, queue) == nil)
    queue.close()
  }

  @Test("A store that cannot be reached does not delay each purchase")
  func unreachable() async throws {
    let store = try ScriptedServer { _ in .http("404 Not Found") }
    let queue = try fixture.queue(at: store.url()) { $0.service = service }
    #expect(try await buy("1", signedBy: nil, queue) == nil, "no catalog is known")
    let count = store.requests.count
    #expect(count > 0)
    for number in 2...10 { #expect(try await buy("\(number)", signedBy: nil, queue) == nil) }
    #expect(store.requests.count == count)
    queue.close()
  }

  /// Returns a queue whose known catalog cannot be read until `repair` is called, and whose store
  /// cannot be reached.
  private func queueWithoutKeys(of other: ScriptedService? = nil) async throws
    -> (queue: PaymentQueue, repair: @Sendable () throws -> Void)
  {
    try list(key)
    let first = try queue()
    #expect(try await buy("1", signedBy: key, first) == nil)
    first.close()
    let file = URL(filePath: "\(fixture.libraryPath)/trust/root.json")
    let root = try Data(contentsOf: file)
    try Data().write(to: file)
    try FileManager.default.removeItem(atPath: fixture.storePath)
    return (try queue(of: other), { try root.write(to: file) })
  }

  @Test func `a purchase waits while the known catalog cannot be read, and is checked then`()
    async throws
  {
    let (queue, repair) = try await queueWithoutKeys()
    let observer = RecordingObserver(of: queue)
    let (genuine, forged) = (ProductIdentifier("b"), ProductIdentifier("c"))
    try sell(genuine, "2", signedBy: key)
    try sell(forged, "3", signedBy: nil)
    let ids = [genuine, forged].map { queue.add(Payment(productIdentifier: $0)) }
    await observer.wait { log in
      log.errors.count >= 2 && ids.allSatisfy { log.transactionStates[$0] == [.purchasing] }
    }
    #expect(observer.log.errors.allSatisfy { $0.code != .receiptInvalid })
    try repair()
    await observer.wait { log in
      ids.allSatisfy { Self.ends.contains(log.transactionStates[$0]?.last) }
    }
    #expect(observer.log.transactions[ids[0]]?.error == nil)
    #expect(observer.log.transactions[ids[1]]?.error?.code == .receiptInvalid)
    queue.close()
  }

  @Test func `a granted purchase waits while the known catalog cannot be read`() async throws {
    // The events of a service can be read once.
    let other = ScriptedService()
    let (queue, repair) = try await queueWithoutKeys(of: other)
    let observer = RecordingObserver(of: queue)
    other.send(.granted(try grant("b", "2", signedBy: key), contents: []))
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.transaction(of: "b") == nil)
    try repair()
    await observer.wait { $0.transaction(of: "b")?.transactionState == .purchased }
    queue.close()
  }

  @Test func `a simulated approval whose receipt cannot be checked stays open if it is cancelled`()
    async throws
  {
    let (queue, _) = try await queueWithoutKeys()
    let observer = RecordingObserver(of: queue)
    service.answer("b", .deferred)
    let id = queue.add(Payment(productIdentifier: "b", simulatesAskToBuy: true))
    await observer.wait { $0.transactionStates[id]?.last == .deferred }
    try sell("b", "2", signedBy: key)
    let transaction = try #require(queue.transactions.first { $0.id == id })
    let approval = Task { try await queue.decideAskToBuy(transaction, isApproved: true) }
    await observer.wait { !$0.errors.isEmpty }
    approval.cancel()
    await #expect(throws: CancellationError.self) { try await approval.value }
    #expect(transaction.transactionState == .deferred)
    queue.close()
  }

  @Test func `a grant that cannot be checked does not count as missing`() async throws {
    let (queue, _) = try await queueWithoutKeys()
    _ = service.grant(product, "1")
    await #expect(throws: ContentError.self) { try await queue.grants() }
    await #expect(throws: ContentError.self) { try await queue.isGranted(product) }
    queue.close()
  }

  @Test("A configured verifier is used instead of the catalog's keys")
  func configured() async throws {
    try list(try ReceiptSigningKey.generate())
    let queue = try queue(ReceiptVerifier(keys: [key.verificationKey]))
    #expect(try await buy("1", signedBy: key, queue) == nil)
  }

  @Test("The built-in store service's receipts name the version that was sold")
  func soldVersion() async throws {
    try fixture.publish("a", "1.0")
    let queue = try fixture.queue { $0.receiptKey = key }
    _ = try await queue.deliver(Payment(productIdentifier: product))
    try fixture.publish("a", "1.1")
    #expect(try await queue.availableUpdates().count == 1)
    let receipt = try #require(try await queue.grants().first?.receipt)
    let verifier = ReceiptVerifier(keys: [key.verificationKey])
    #expect(try verifier.verify(receipt, account: nil).contentVersion == "1.0")
  }

  @Test("The built-in store service does not need a receipt")
  func builtIn() async throws {
    try fixture.publish("a", "1.0")
    try list(key)
    let queue = try fixture.queue()
    _ = try await queue.deliver(Payment(productIdentifier: product))
    try fixture.expectInstalled("a", "1.0")
  }
}
