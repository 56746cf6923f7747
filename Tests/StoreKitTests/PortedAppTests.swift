import HostedContentTesting
import StoreKit
import HostedTestSupport
import HostedTestTraits
import Testing

/// What the guide "Moving from Apple's hosted content" says about updates, receipts and files.
@Suite("Apps that were written for Apple's hosted content", .timeLimit(.hang))
struct PortedAppTests {
  @Test("A restore downloads the version that the store offers now")
  func update() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book", "1.9")
    let observer = KitObserver.delivering()
    fixture.queue.add(observer)
    fixture.queue.add(fixture.payment("book"))
    await observer.wait { $0.removed.count == 1 }
    #expect(observer.log.removed[0].downloads.map(\.contentVersion) == ["1.9"])
    try fixture.session.publish("book", "1.10")
    fixture.queue.restoreCompletedTransactions()
    await observer.wait { $0.removed.count == 2 }
    let download = try #require(observer.log.removed[1].downloads.first)
    #expect(download.contentVersion == "1.10" && download.state == .finished)
    fixture.queue.close()
  }

  @Test("Copies of installed files are read-only until the app changes their permissions")
  func copies() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book", files: ["text.txt": Array("Hello".utf8)])
    let observer = KitObserver.delivering()
    fixture.queue.add(observer)
    fixture.queue.add(fixture.payment("book"))
    await observer.wait { $0.removed.count == 1 }
    let contents = try #require(observer.log.removed[0].downloads.first?.contentURL)
      .appending(path: "Contents")
    let folder = try TemporaryFolder()
    let copy = URL(filePath: folder.path("copy"))
    try FileManager.default.copyItem(at: contents, to: copy)
    let values = try FileManager.default.attributesOfItem(
      atPath: copy.appending(path: "text.txt").path)
    let permissions = try #require(values[.posixPermissions] as? Int)
    #expect(permissions & 0o222 == 0)
    withExtendedLifetime(folder) {}
    fixture.queue.close()
  }

  @Test("A purchase and its restore have the seller's signed receipt")
  func receipts() async throws {
    let key = try ReceiptSigningKey.generate()
    let fixture = try KitFixture { $0.receiptKey = key }
    try fixture.session.publish("book")
    let receipts = Watched<[Data?]>([])
    let observer = KitObserver(onTransaction: { queue, transaction in
      guard [.purchased, .restored].contains(transaction.transactionState) else { return }
      let own = transaction.transactionReceipt
      let first = transaction.original?.transactionReceipt
      receipts.change { $0 += [own, first] }
      queue.finishTransaction(transaction)
    })
    fixture.queue.add(observer)
    fixture.queue.add(fixture.payment("book"))
    await observer.wait { $0.removed.count == 1 }
    fixture.queue.restoreCompletedTransactions()
    await observer.wait { $0.removed.count == 2 }
    let found = receipts.value
    try #require(found.count == 4)
    #expect(found[1] == nil, "a purchase has no original")
    let verifier = ReceiptVerifier(keys: [key.verificationKey])
    for data in [found[0], found[2], found[3]] {
      let text = String(decoding: try #require(data), as: UTF8.self)
      let receipt = try verifier.verify(text, account: nil, now: fixture.session.clock.now)
      #expect(receipt.productIdentifier == "book")
      #expect(receipt.transactionIdentifier == observer.log.removed[0].transactionIdentifier)
    }
    fixture.queue.close()
  }

  @Test("Several observers may finish one transaction, which is removed once")
  func severalObservers() async throws {
    let fixture = try KitFixture()
    try fixture.session.offer("club")
    let observers = (1...2).map { _ in
      KitObserver(onTransaction: { queue, transaction in
        if transaction.transactionState == .purchased { queue.finishTransaction(transaction) }
      })
    }
    for observer in observers { fixture.queue.add(observer) }
    fixture.queue.add(fixture.payment("club"))
    for observer in observers { await observer.wait { !$0.removed.isEmpty } }
    // Waits for calls in progress.
    fixture.queue.close()
    #expect(observers.map(\.log.removed.count) == [1, 1])
    #expect(fixture.refusals.value == [])
  }

  /// Accepts every storefront, but only after more than a second.
  private final class SlowDelegate: NSObject, SKPaymentQueueDelegate {
    func paymentQueue(
      _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
      in newStorefront: SKStorefront
    ) -> Bool {
      Thread.sleep(forTimeInterval: 1.05)
      return true
    }
  }

  @Test("A delegate that answers after more than a second fails the transaction", .slow)
  func slowDelegate() async throws {
    try await KitFixture().expectStop(by: SlowDelegate())
  }
}
