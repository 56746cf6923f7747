import AppUpdate
import HostedContentTesting
import HostedConcurrency
import StoreKit
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Requests behave like Apple's", .timeLimit(.hang))
struct RequestTests {
  /// Records calls in order.
  final class Recorder: NSObject, SKProductsRequestDelegate, Sendable {
    struct Log: Sendable {
      var calls: [String] = []
      var response: SKProductsResponse?
      var error: (any Error)?
    }

    private let log = Mutex(Log())
    private let ends: AsyncStream<Log>
    private let end: AsyncStream<Log>.Continuation

    override init() { (ends, end) = AsyncStream.makeStream() }

    var calls: [String] { log.withLock { $0.calls } }

    /// Returns the log after a request has ended.
    func ended() async -> Log { await ends.first { _ in true } ?? Log() }

    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
      log.withLock { log in
        log.calls.append("received")
        log.response = response
      }
    }

    func requestDidFinish(_ request: SKRequest) {
      end.yield(
        log.withLock { log in
          log.calls.append("finished")
          return log
        })
    }

    func request(_ request: SKRequest, didFailWithError error: any Error) {
      end.yield(
        log.withLock { log in
          log.calls.append("failed")
          log.error = error
          return log
        })
    }
  }

  @Test("Products have texts, price and content, and invalid identifiers are listed")
  func products() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish(
      "book", "1.10",
      details: ProductDetails(title: "Book", description: "A book", price: 2.99, currency: "EUR"))
    try fixture.session.offer("plain")
    let recorder = Recorder()
    let request = SKProductsRequest(
      productIdentifiers: ["book", "plain", "none", "no identifier"], queue: fixture.queue)
    request.delegate = recorder
    request.start()
    let log = await recorder.ended()
    #expect(log.calls == ["received", "finished"])
    let response = try #require(log.response)
    #expect(response.invalidProductIdentifiers == ["no identifier", "none"])
    let book = try #require(response.products.first { $0.productIdentifier == "book" })
    #expect(book.localizedTitle == "Book" && book.localizedDescription == "A book")
    #expect(book.price == NSDecimalNumber(string: "2.99"))
    #expect(book.priceLocale.currency?.identifier == "EUR")
    #expect(book.priceLocale.regionCode == "US", "the region of the service's storefront")
    #expect(book.isDownloadable && book.downloadContentVersion == "1.10")
    #expect(book.downloadContentLengths.count == 1 && book.downloadContentLengths[0].int64Value > 0)
    let plain = try #require(response.products.first { $0.productIdentifier == "plain" })
    #expect(!plain.isDownloadable && plain.downloadContentLengths.isEmpty && plain.price == 0)
    #expect(SKPayment(product: book).productIdentifier == "book")
    fixture.queue.close()
  }

  @Test(
    "A price is formatted with the product's locale, as in Apple's sample code",
    arguments: [("2.99", "EUR", "€2.99"), ("300", "JPY", "¥300")])
  func price(amount: String, currency: String, text: String) async throws {
    let fixture = try KitFixture()
    let price = try #require(Decimal(string: amount))
    try fixture.session.offer("club", details: ProductDetails(price: price, currency: currency))
    let recorder = Recorder()
    let request = SKProductsRequest(productIdentifiers: ["club"], queue: fixture.queue)
    request.delegate = recorder
    request.start()
    let log = await recorder.ended()
    let product = try #require(log.response?.products.first)
    let formatter = NumberFormatter()
    formatter.numberStyle = .currency
    formatter.locale = product.priceLocale
    #expect(formatter.string(from: product.price) == text)
    fixture.queue.close()
  }

  @Test("An unreachable store is a network error, and nothing else is called")
  func unreachable() async throws {
    let fixture = try KitFixture()
    try fixture.session.setStoreIsReachable(false)
    let recorder = Recorder()
    let request = SKProductsRequest(productIdentifiers: ["book"], queue: fixture.queue)
    request.delegate = recorder
    request.start()
    let log = await recorder.ended()
    #expect(log.calls == ["failed"])
    let error = log.error as NSError?
    #expect(error?.domain == NSURLErrorDomain, "\(error.debugDescription)")
    #expect(error?.code == NSURLErrorCannotConnectToHost)
    fixture.queue.close()
  }

  @Test("A cancelled request calls nothing, and can be started again")
  func cancelled() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book")
    let recorder = Recorder()
    let request = SKProductsRequest(productIdentifiers: ["book"], queue: fixture.queue)
    request.delegate = recorder
    request.start()
    request.cancel()
    request.start()
    #expect(await recorder.ended().calls == ["received", "finished"])
    fixture.queue.close()
  }

  @Test("Refreshing the receipt calls the service")
  func receipt() async throws {
    let fixture = try KitFixture()
    let recorder = Recorder()
    let request = SKReceiptRefreshRequest(receiptProperties: nil, queue: fixture.queue)
    request.delegate = recorder
    request.start()
    #expect(await recorder.ended().calls == ["finished"])
    fixture.queue.close()
    request.start()
    #expect(await recorder.ended().calls.last == "failed")
  }

  @Test("A product page loads from the configured look-up with its tokens, or fails with error 5")
  func page() async throws {
    let session = try StoreSession()
    let folder = try TemporaryFolder()
    let listing =
      #"{"trackId": 5, "version": "1.0", "trackViewUrl": "https://apps.example.com/app/id5"}"#
    try Data(#"{"apps": [{"listing": \#(listing)}]}"#.utf8)
      .write(to: URL(filePath: folder.path("apps.json")))
    var apps = FileServer.Configuration()
    try apps.serveApps(ofFolder: folder.path)
    let server = try FileServer(folder: folder.path, configuration: apps)
    try server.start()
    var configuration = SKHostConfiguration(queue: try session.configuration())
    configuration.queue.deliveryQueue = DispatchQueue(label: "page")
    configuration.lookup = .init(server: try #require(URL(string: server.url)))
    let queue = try SKPaymentQueue(configuration: configuration)
    let page = SKStoreProductViewController(queue: queue)
    let isLoaded = try await page.loadProduct(
      withParameters: [
        SKStoreProductParameterITunesItemIdentifier: NSNumber(value: 5),
        SKStoreProductParameterCampaignToken: "spring",
      ])
    #expect(isLoaded)
    #expect(page.pageURL?.absoluteString == "https://apps.example.com/app/id5?ct=spring")
    let parameters: [String: Any] = [SKStoreProductParameterITunesItemIdentifier: "none"]
    let error: (any Error)? = await withCheckedContinuation { continuation in
      page.loadProduct(withParameters: parameters) { isLoaded, error in
        continuation.resume(returning: isLoaded ? nil : error)
      }
    }
    #expect((error as? SKError)?.code == .storeProductNotAvailable)
    #expect(page.pageURL == nil)
    let hearer = Hearer()
    page.delegate = hearer
    page.userDidFinish()
    await hearer.isFinished.wait { $0 }
    queue.close()
    server.stop()
  }

  @Test("A page stays if an earlier load ends after it")
  func lastPage() async throws {
    let ended = Watched(0)
    let server = try ScriptedServer { request in
      let number = request.path.contains("id=1&") ? 1 : 2
      if number == 1 { ended.block { $0 == 1 } }
      let page = "https://apps.example.com/app/id\(number)"
      let body = #"{"results": [{"trackId": \#(number), "trackViewUrl": "\#(page)"}]}"#
      return .http("200 OK", body: Array(body.utf8))
    }
    let session = try StoreSession()
    var configuration = SKHostConfiguration(queue: try session.configuration())
    configuration.queue.deliveryQueue = DispatchQueue(label: "page")
    configuration.lookup = .init(server: try #require(URL(string: server.url())))
    let queue = try SKPaymentQueue(configuration: configuration)
    let page = SKStoreProductViewController(queue: queue)
    for number in 1...2 {
      let parameters: [String: Any] = [SKStoreProductParameterITunesItemIdentifier: number]
      page.loadProduct(withParameters: parameters) { _, _ in ended.change { $0 += 1 } }
    }
    await ended.wait { $0 == 2 }
    #expect(page.pageURL?.absoluteString == "https://apps.example.com/app/id2")
    queue.close()
  }

  final class Hearer: NSObject, SKStoreProductViewControllerDelegate, Sendable {
    let isFinished = Watched(false)

    func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) {
      isFinished.change { $0 = true }
    }
  }
}
