import StoreKit
import Testing

/// Tests of client code subclass StoreKit's classes in this way.
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

  @Test("A subclass can override values, and the module uses them")
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

  @Test("A queue ignores a transaction of another queue")
  func foreign() throws {
    let fixture = try KitFixture()
    fixture.queue.finishTransaction(FakeTransaction("fake", .purchased))
    fixture.queue.start([FakeDownload()])
    #expect(fixture.queue.transactions.isEmpty)
    fixture.queue.close()
  }
}

/// Doubles whose initializers do not call `super.init()`, or that Apple's API does not have.
@Suite("Initializers of clients' test doubles compile")
struct DoubleInitializerTests {
  final class Period: SKProductSubscriptionPeriod, @unchecked Sendable {
    private let count: Int
    private let length: SKProduct.PeriodUnit

    init(numberOfUnits: Int = 2, unit: SKProduct.PeriodUnit = .year) {
      count = numberOfUnits
      length = unit
    }

    override var numberOfUnits: Int { count }
    override var unit: SKProduct.PeriodUnit { length }
  }

  final class Discount: SKProductDiscount, @unchecked Sendable {
    private let value: NSDecimalNumber

    init(
      identifier: String?, type: `Type`, price: NSDecimalNumber, priceLocale: Locale,
      paymentMode: PaymentMode, numberOfPeriods: Int,
      subscriptionPeriod: SKProductSubscriptionPeriod
    ) {
      value = price
    }

    override var price: NSDecimalNumber { value }
  }

  final class Queue: SKPaymentQueue, @unchecked Sendable {
    let configuration: SKHostConfiguration?
    init(configuration: SKHostConfiguration?) { self.configuration = configuration }
  }

  final class Page: SKStoreProductViewController, @unchecked Sendable {
    let queue: SKPaymentQueue
    init(queue: SKPaymentQueue) { self.queue = queue }
  }

  final class Offer: SKPaymentDiscount, @unchecked Sendable {
    private let name: String

    init(name: String) {
      self.name = name
      super.init()
    }

    override var identifier: String { name }
  }

  final class ProductsRequest: SKProductsRequest, @unchecked Sendable {
    let asked: Set<String>

    override init(productIdentifiers: Set<String> = ["default"]) {
      asked = productIdentifiers
      super.init()
    }
  }

  final class InheritingRequest: SKProductsRequest, @unchecked Sendable {}

  final class ReceiptRequest: SKReceiptRefreshRequest, @unchecked Sendable {
    let reason: String

    init(reason: String) {
      self.reason = reason
      super.init()
    }
  }

  final class Request: SKRequest, @unchecked Sendable {
    let number: Int
    init(number: Int) { self.number = number }
  }

  final class Response: SKProductsResponse, @unchecked Sendable {
    private let found: [SKProduct]
    init(products: [SKProduct]) { found = products }
    override var products: [SKProduct] { found }
  }

  final class Front: SKStorefront, @unchecked Sendable {
    private let country: String
    init(countryCode: String) { country = countryCode }
    override var countryCode: String { country }
  }

  @Test("Doubles with their own initializers return the given values")
  func initializers() {
    #expect(Period().numberOfUnits == 2 && Period(numberOfUnits: 3, unit: .day).unit == .day)
    let discount = Discount(
      identifier: nil, type: .subscription, price: 5, priceLocale: .current,
      paymentMode: .freeTrial, numberOfPeriods: 1, subscriptionPeriod: Period())
    #expect(discount.price == 5)
    let queue = Queue(configuration: nil)
    #expect(queue.configuration == nil && Page(queue: queue).queue === queue)
    #expect(Offer(name: "spring").identifier == "spring")
    #expect(ProductsRequest().asked == ["default"])
    _ = InheritingRequest(productIdentifiers: ["a"])
    #expect(ReceiptRequest(reason: "restore").receiptProperties == nil)
    #expect(Request(number: 4).number == 4)
    #expect(Response(products: [SKProduct()]).products.count == 1)
    #expect(Front(countryCode: "SWE").countryCode == "SWE")
  }

  @Test("print shows the values of an object, also of a double")
  func descriptions() {
    let payment = SKMutablePayment()
    payment.productIdentifier = "com.example.coin"
    #expect("\(payment)" == "com.example.coin")
    payment.quantity = 5
    #expect("\(payment)" == "com.example.coin, 5 units")
    #expect("\(DoubleTests.FakeTransaction("book", .purchased))" == "book: purchased")
    #expect("\(DoubleTests.FakeDownload())".hasSuffix(": failed"))
    #expect("\(DoubleTests.FakeProduct())" == "fake")
    #expect("\(SKProductSubscriptionPeriod(numberOfUnits: 3, unit: .month))" == "3 month")
  }

  @Test("Objects of Apple's classes can be created without values")
  func empty() {
    #expect(SKReceiptRefreshRequest().receiptProperties == nil)
    #expect(SKProductsRequest().delegate == nil)
    #expect(SKPaymentDiscount().identifier.isEmpty && SKPaymentDiscount().timestamp == 0)
  }
}
