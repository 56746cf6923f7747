import StoreKit
import Testing

/// Client code's own tests subclass StoreKit's classes; this is how they do it.
@Suite("Clients' test doubles compile and work")
struct DoubleTests {
  final class FakeTransaction: SKPaymentTransaction, @unchecked Sendable {
    private let product: String
    private let state: SKPaymentTransactionState

    init(_ product: String, _ state: SKPaymentTransactionState) {
      self.product = product
      self.state = state
    }

    override var transactionState: SKPaymentTransactionState { state }
    override var payment: SKPayment {
      let payment = SKMutablePayment()
      payment.productIdentifier = product
      return payment
    }
    override var downloads: [SKDownload] { [FakeDownload()] }
  }

  final class FakeDownload: SKDownload, @unchecked Sendable {
    override var state: SKDownloadState { .failed }
    override var error: (any Error)? { URLError(.timedOut) }
  }

  final class FakeProduct: SKProduct, @unchecked Sendable {
    override var productIdentifier: String { "fake" }
    override var subscriptionPeriod: SKProductSubscriptionPeriod? {
      SKProductSubscriptionPeriod(numberOfUnits: 1, unit: .month)
    }
  }

  final class FakeQueue: SKPaymentQueue, @unchecked Sendable {
    var finished: [SKPaymentTransaction] = []
    override func finishTransaction(_ transaction: SKPaymentTransaction) {
      finished.append(transaction)
    }
  }

  @Test("A subclass says what it likes, and the rest sees that")
  func doubles() {
    let queue = FakeQueue()
    let transaction = FakeTransaction("fake", .purchased)
    queue.finishTransaction(transaction)
    #expect(queue.finished == [transaction])
    #expect(transaction.payment.productIdentifier == "fake")
    #expect((transaction.downloads[0].error as NSError?)?.code == NSURLErrorTimedOut)
    #expect(SKPayment(product: FakeProduct()).productIdentifier == "fake")
    #expect(FakeProduct().subscriptionPeriod?.unit == .month)
  }

  @Test("A queue knows nothing of a transaction that is not its own")
  func foreign() throws {
    let fixture = try KitFixture()
    fixture.queue.finishTransaction(FakeTransaction("fake", .purchased))
    fixture.queue.start([FakeDownload()])
    #expect(fixture.queue.transactions.isEmpty)
    fixture.queue.close()
  }
}
