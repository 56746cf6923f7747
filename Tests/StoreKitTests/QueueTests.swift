import HostedContentTesting
import StoreKit
import HostedTestSupport
import HostedTestTraits
import Testing

/// A StoreKit queue with its own session.
struct KitFixture {
  let session: StoreSession
  let queue: SKPaymentQueue
  let refusals = Watched<[ContentError.Code]>([])

  /// `change` adapts the engine's configuration.
  init(
    _ session: StoreSession? = nil, _ change: (inout PaymentQueue.Configuration) -> Void = { _ in }
  ) throws {
    self.session = try session ?? StoreSession()
    var queue = try self.session.configuration()
    queue.deliveryQueue = DispatchQueue(label: "storekit.tests")
    change(&queue)
    var configuration = SKHostConfiguration(queue: queue)
    configuration.language = "en"
    configuration.onRefusal = { [refusals] error in
      refusals.change { $0.append(error.code) }
    }
    self.queue = try SKPaymentQueue(configuration: configuration)
  }

  func payment(_ product: String, account: String? = nil) -> SKMutablePayment {
    let payment = SKMutablePayment()
    payment.productIdentifier = product
    payment.applicationUsername = account
    return payment
  }

  /// Expects that `delegate` stops a purchase in the storefront SWE; closes the queue.
  func expectStop(by delegate: any SKPaymentQueueDelegate) async throws {
    try session.publish("book")
    try session.setFaults("* stall 0")
    queue.delegate = delegate
    #expect(queue.delegate === delegate)
    let observer = KitObserver()
    queue.add(observer)
    queue.add(payment("book"))
    await observer.wait { $0.states.last == [.purchasing] }
    try session.changeStorefront(to: "SWE")
    await observer.wait { $0.states.last == [.failed] }
    let error = try #require(observer.log.transactions.last?.error as? SKError)
    #expect(error.code == .storeProductNotAvailable)
    withExtendedLifetime(delegate) {}
    queue.close()
  }
}

@Suite("The queue behaves like Apple's", .timeLimit(.hang))
struct QueueTests {
  @Test("A purchase is delivered, downloaded, and removed when it is finished")
  func purchase() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book", "1.1", files: ["text.txt": Array("Hello".utf8)])
    let observer = KitObserver.delivering()
    fixture.queue.add(observer)
    let payment = fixture.payment("book")
    payment.quantity = 2
    fixture.queue.add(payment)
    payment.quantity = 3
    await observer.wait { !$0.removed.isEmpty }
    let log = observer.log
    #expect(log.states.flatMap { $0 } == [.purchasing, .purchased])
    #expect(Set(log.transactions).count == 1 && log.transactions[0] === log.removed[0])
    let transaction = log.removed[0]
    #expect(transaction.payment.productIdentifier == "book" && transaction.payment.quantity == 2)
    #expect(transaction.transactionIdentifier != nil && transaction.error == nil)
    #expect(transaction.transactionDate == fixture.session.clock.now)
    let download = try #require(transaction.downloads.first)
    #expect(Set(log.downloads) == [download] && download.transaction === transaction)
    #expect(download.state == .finished && download.progress == 1)
    #expect(download.contentIdentifier == "book" && download.contentVersion == "1.1")
    #expect(download.contentLength > 0 && download.error == nil)
    let url = try #require(download.contentURL).appending(path: "Contents/text.txt")
    #expect(try String(contentsOf: url, encoding: .utf8) == "Hello")
    #expect(fixture.queue.transactions.isEmpty)
    fixture.queue.close()
  }

  @Test("The same transaction and download are the same objects, even in the queue's list")
  func identity() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book")
    try fixture.session.setFaults("*.pkg status 503")
    let first = KitObserver()
    let second = KitObserver()
    fixture.queue.add(first)
    fixture.queue.add(second)
    fixture.queue.add(fixture.payment("book"))
    await first.wait { $0.states.last == [.purchased] }
    await second.wait { $0.states.last == [.purchased] }
    let transaction = try #require(fixture.queue.transactions.first)
    #expect((first.log.transactions + second.log.transactions).allSatisfy { $0 === transaction })
    #expect(transaction.downloads[0] === transaction.downloads[0])
    #expect(fixture.queue.transactionObservers.count == 2)
    fixture.queue.remove(first)
    #expect(fixture.queue.transactionObservers.count == 1)
    fixture.queue.close()
  }

  @Test(
    "A failed download keeps its transaction, has an error in NSURLErrorDomain, and can restart"
  )
  func failedDownload() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book")
    try fixture.session.setFaults("*.pkg status 500")
    let observer = KitObserver(onTransaction: { queue, transaction in
      if transaction.transactionState == .purchased { queue.start(transaction.downloads) }
    })
    fixture.queue.add(observer)
    fixture.queue.add(fixture.payment("book"))
    await observer.wait { $0.downloads.contains { $0.state == .failed } }
    let download = try #require(fixture.queue.transactions.first?.downloads.first)
    let error = try #require(download.error as NSError?)
    #expect(error.domain == NSURLErrorDomain && error.code == NSURLErrorBadServerResponse)
    try fixture.session.setFaults("")
    fixture.queue.start([download])
    await observer.wait { $0.downloads.contains { $0.state == .finished } }
    fixture.queue.finishTransaction(download.transaction)
    await observer.wait { $0.removed.count == 1 }
    fixture.queue.close()
  }

  @Test("Pause, resume and cancel change a download's state")
  func steering() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book")
    let observer = KitObserver()
    fixture.queue.add(observer)
    fixture.queue.add(fixture.payment("book"))
    await observer.wait { $0.states.last == [.purchased] }
    let downloads = try #require(fixture.queue.transactions.first?.downloads)
    fixture.queue.pause(downloads)
    await observer.wait { $0.downloads.last?.state == .paused }
    fixture.queue.cancel(downloads)
    await observer.wait { $0.downloads.last?.state == .cancelled }
    fixture.queue.start(downloads)
    await observer.wait { $0.downloads.last?.state == .finished }
    fixture.queue.close()
  }

  @Test("Restoring reports new transactions with their originals, then the end")
  func restore() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book")
    let buyer = KitObserver.delivering()
    fixture.queue.add(buyer)
    fixture.queue.add(fixture.payment("book", account: "a1"))
    await buyer.wait { $0.removed.count == 1 }
    let bought = buyer.log.removed[0]
    fixture.queue.restoreCompletedTransactions()
    await buyer.wait { $0.restores.count == 1 }
    #expect(buyer.log.states.flatMap { $0 } == [.purchasing, .purchased])
    fixture.queue.restoreCompletedTransactions(withApplicationUsername: "a1")
    await buyer.wait { $0.restores.count == 2 && $0.removed.count == 2 }
    let restored = buyer.log.removed[1]
    #expect(restored.transactionState == .restored && restored !== bought)
    #expect(restored.transactionIdentifier != bought.transactionIdentifier)
    let original = try #require(restored.original)
    #expect(original === restored.original && original.transactionState == .purchased)
    #expect(original.transactionIdentifier == bought.transactionIdentifier)
    #expect(original.payment.applicationUsername == "a1")
    fixture.session.failRestore(
      with: ContentError(.hostNotFound, "No host", remedy: "Check the host name"))
    fixture.queue.restoreCompletedTransactions(withApplicationUsername: "a1")
    await buyer.wait { $0.restores.count == 3 }
    let error = try #require(buyer.log.restores[2] as NSError?)
    #expect(error.domain == NSURLErrorDomain && error.code == NSURLErrorCannotFindHost)
    fixture.queue.close()
  }

  @Test("Invalid payments become failed transactions, which can be finished")
  func refused() async throws {
    let fixture = try KitFixture()
    let observer = KitObserver.delivering()
    fixture.queue.add(observer)
    let nothing = SKPayment()
    let many = fixture.payment("book")
    many.quantity = 11
    let reserved = fixture.payment("book")
    reserved.requestData = Data()
    let discounted = fixture.payment("book")
    discounted.paymentDiscount = SKPaymentDiscount(
      identifier: "o", keyIdentifier: "k", nonce: UUID(), signature: "", timestamp: 0)
    let unknown = fixture.payment("unknown")
    for payment in [nothing, many, reserved, discounted, unknown] { fixture.queue.add(payment) }
    await observer.wait { $0.removed.count == 5 }
    let codes = observer.log.removed.map { ($0.error as? SKError)?.code.rawValue ?? -1 }
    #expect(codes.sorted() == [3, 3, 5, 10, 18])
    #expect(fixture.queue.transactions.isEmpty)
    fixture.queue.close()
  }

  @Test("Finishing a purchasing transaction is refused and reported, without an exception", .slow)
  func finishPurchasing() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book")
    try fixture.session.setFaults("* latency 300ms")
    let observer = KitObserver(onTransaction: { queue, transaction in
      if transaction.transactionState == .purchasing { queue.finishTransaction(transaction) }
    })
    fixture.queue.add(observer)
    let other = KitObserver()
    fixture.queue.add(other)
    fixture.queue.add(fixture.payment("book"))
    await observer.wait { $0.states.last == [.purchased] }
    #expect(fixture.refusals.value == [.cannotFinish], "once, not for each observer")
    #expect(observer.log.removed.isEmpty)
    fixture.queue.close()
    withExtendedLifetime(other) {}
  }

  @Test("A deallocated queue releases its library")
  func released() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let observer = KitObserver.delivering()
    do {
      let first = try KitFixture(session)
      first.queue.add(observer)
      first.queue.add(first.payment("book"))
      await observer.wait { $0.removed.count == 1 }
    }
    // A report in progress retains the queue.
    var second: KitFixture?
    try await waitUntil {
      do {
        second = try KitFixture(session)
        return true
      } catch let error as ContentError where error.code == .libraryLocked {
        return false
      }
    }
    second?.queue.close()
  }

  @Test("Unfinished transactions are reported again at the next launch")
  func relaunch() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let first = try KitFixture(session)
    let observer = KitObserver()
    first.queue.add(observer)
    first.queue.add(first.payment("book"))
    await observer.wait { $0.states.last == [.purchased] }
    first.queue.close()
    let second = try KitFixture(session)
    let later = KitObserver.delivering()
    second.queue.add(later)
    await later.wait { $0.removed.count == 1 }
    #expect(later.log.states.first == [.purchased])
    second.queue.close()
  }

  @Test("Ask to buy, interrupted purchases, refunds, promotions and storefronts reach the observer")
  func serviceSide() async throws {
    let fixture = try KitFixture()
    let session = fixture.session
    for product in ["asked", "broken", "offered"] as [ProductIdentifier] {
      try session.publish(product)
    }
    let observer = KitObserver.delivering()
    fixture.queue.add(observer)
    let asked = fixture.payment("asked")
    asked.simulatesAskToBuyInSandbox = true
    fixture.queue.add(asked)
    await observer.wait { $0.states.last == [.deferred] }
    let waiting = try #require(fixture.queue.transactions.first)
    try await session.approve(session.deferredTransactions()[0])
    await observer.wait { $0.removed.count == 1 }
    #expect(observer.log.removed[0] === waiting)
    try session.setDecision(.interrupt, about: "broken", count: 1)
    fixture.queue.add(fixture.payment("broken"))
    await observer.wait { $0.removed.count == 2 }
    #expect((observer.log.removed[1].error as? SKError)?.code == .paymentCancelled)
    try await session.resolveInterruption(of: "broken")
    await observer.wait { $0.removed.count == 3 }
    #expect(observer.log.removed[2].payment.productIdentifier == "broken")
    #expect(observer.log.removed[2].transactionState == .purchased)
    try session.promote("offered")
    await observer.wait { $0.removed.count == 4 }
    #expect(observer.log.promoted == ["offered"])
    try await session.refund("asked")
    await observer.wait { $0.revoked == ["asked"] }
    try session.changeStorefront(to: "SWE")
    await observer.wait { $0.storefronts == ["SWE"] }
    fixture.queue.close()
  }

  @Test("A delegate that returns false fails the transaction with number 5")
  func delegate() async throws {
    final class Refuser: NSObject, SKPaymentQueueDelegate {
      func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
      ) -> Bool { newStorefront.countryCode != "SWE" }
    }
    try await KitFixture().expectStop(by: Refuser())
  }
}
