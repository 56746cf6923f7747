import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("The payment queue with a store folder", .timeLimit(.hang))
struct PaymentQueueTests {
  @Test("A payment leads to an installed version, a finished download and a removed transaction")
  func wholeWay() async throws {
    let fixture = try StoreFixture(publishing: "com.example.book", "1.0")
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    let id = queue.add(Payment(productIdentifier: "com.example.book"))
    await observer.wait { $0.removed == [id] }

    let log = observer.log
    #expect(log.transactionStates[id] == [.purchasing, .purchased])
    let download = try #require(log.download(of: "com.example.book"))
    #expect(log.downloadStates[download.id] == [.waiting, .active, .finished])
    #expect(download.state == .finished)
    #expect(download.progress == 1)
    #expect(download.timeRemaining == .zero)
    #expect(download.error == nil)
    #expect(download.contentVersion == (ContentVersion("1.0")))
    #expect(download.transaction.id == id)
    let text = try #require(download.contentURL).appending(path: "Contents/text.txt")
    #expect(try String(contentsOf: text, encoding: .utf8) == "The text of com.example.book 1.0\n")
    #expect(log.transaction(of: "com.example.book")?.transactionIdentifier != nil)
    #expect(queue.transactions.isEmpty)
    #expect(log.errors.isEmpty)
    try fixture.expectInstalled("com.example.book", "1.0")
    #expect(try fixture.staged().isEmpty)
    let progress = try #require(log.progress[download.id])
    #expect(progress == progress.sorted())
    #expect(progress.allSatisfy { (0...1).contains($0) })
  }

  @Test("The limits of transfers begin with those of the configuration, and can be changed")
  func transferLimits() throws {
    let fixture = try StoreFixture()
    for store in [nil, "http://127.0.0.1:1/"] {
      let queue = try fixture.queue(at: store) { $0.network.limits.bytesPerSecond = 1_000_000 }
      #expect(queue.transferLimits.bytesPerSecond == 1_000_000)
      queue.transferLimits.bytesPerSecond = 2_000_000
      #expect(queue.transferLimits.bytesPerSecond == 2_000_000)
      queue.close()
    }
  }

  @Test("Before it is finished, a download has a length and a version but no content URL")
  func beforeStart() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let observer = RecordingObserver(of: queue)
    queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.download(of: "a") != nil }
    let download = try #require(observer.log.download(of: "a"))
    #expect(download.state == .waiting)
    #expect(download.contentURL == nil)
    #expect(download.progress == 0)
    #expect(download.timeRemaining == nil)
    #expect(download.expectedContentLength > 0)
    #expect(download.contentVersion.rawValue == "1.0")
    queue.close()
  }

  @Test("A product that is not offered fails only its transaction")
  func unknownProduct() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    let bad = queue.add(Payment(productIdentifier: "nothing"))
    let good = queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.removed.count == 2 }
    #expect(observer.log.transactionStates[bad] == [.purchasing, .failed])
    #expect(observer.log.transactions[bad]?.error?.code == .productUnknown)
    #expect(observer.log.transactionStates[good]?.last == .purchased)
    try fixture.expectInstalled("a", "1.0")
  }

  @Test("A product without content is purchased with no downloads")
  func withoutContent() async throws {
    let fixture = try StoreFixture()
    try fixture.store.add(ProductIdentifier("club"))
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    let id = queue.add(Payment(productIdentifier: "club"))
    await observer.wait { $0.removed == [id] }
    #expect(observer.log.transactions[id]?.downloads.isEmpty == true)
    #expect(observer.log.transactions[id]?.transactionState == .purchased)
  }

  @Test("Unfinished transactions are reported again at the next launch, in the same state")
  func relaunch() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    try fixture.publish("b", "1.0")
    let ids: [TransactionID]
    do {
      let queue = try fixture.queue()
      let observer = RecordingObserver(onTransactions: { queue, transactions in
        queue.start(
          transactions.flatMap(\.downloads).filter { $0.contentIdentifier.rawValue == "a" })
      })
      queue.add(observer)
      ids = try ["a", "b"].map {
        queue.add(Payment(productIdentifier: try ProductIdentifier(validating: $0)))
      }
      await observer.wait {
        $0.download(of: "a")?.state == .finished && $0.download(of: "b") != nil
      }
      queue.close()
    }
    for _ in 0..<2 {
      let queue = try fixture.queue()
      #expect(queue.transactions.map(\.id) == ids)
      let observer = RecordingObserver(of: queue)
      await observer.wait { $0.downloads.count == 2 }
      #expect(observer.log.transactionStates == [ids[0]: [.purchased], ids[1]: [.purchased]])
      #expect(observer.log.download(of: "a")?.state == .finished)
      #expect(observer.log.download(of: "a")?.contentURL != nil)
      #expect(observer.log.download(of: "b")?.state == .waiting)
      queue.close()
    }
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    await observer.wait { Set($0.removed) == Set(ids) }
    queue.close()
    let last = try fixture.queue()
    #expect(last.transactions.isEmpty)
  }

  @Test("Finishing early cancels the download and leaves nothing behind")
  func finishEarly() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let observer = RecordingObserver(onTransactions: { queue, transactions in
      for transaction in transactions where transaction.transactionState == .purchased {
        queue.finishTransaction(transaction)
      }
    })
    queue.add(observer)
    let id = queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.removed == [id] }
    let download = try #require(observer.log.download(of: "a"))
    #expect(download.state == .cancelled)
    #expect(download.contentURL == nil)
    queue.start([download])
    queue.close()
    #expect(download.state == .cancelled)
    #expect(try fixture.staged().isEmpty)
  }

  @Test("Finishing a purchasing transaction is refused with an error report")
  func finishPurchasing() async throws {
    let fixture = try StoreFixture()
    let queue = try fixture.queue { $0.service = SilentService() }
    let observer = RecordingObserver(onTransactions: { queue, transactions in
      transactions.forEach(queue.finishTransaction)
    })
    queue.add(observer)
    let id = queue.add(Payment(productIdentifier: "a"))
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.cannotFinish])
    #expect(queue.transactions.map(\.id) == [id])
    #expect(observer.log.removed.isEmpty)
    queue.close()
  }

  @Test("A newer version is found, installed beside the old one, and becomes current")
  func update() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.9")
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    let bought = queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.removed == [bought] }
    #expect(try await queue.availableUpdates().isEmpty)
    try fixture.publish("a", "1.10")
    let updates = try await queue.availableUpdates()
    #expect(updates.map(\.offered.rawValue) == ["1.10"])
    #expect(updates.map(\.installed.rawValue) == ["1.9"])
    let update = try #require(updates.first)
    let id = try await queue.add(update)
    await observer.wait { $0.removed.contains(id) }
    #expect(observer.log.transactionStates[id]?.first == .restored)
    #expect(observer.log.transactions[id]?.original?.transactionIdentifier == bought.rawValue)
    try fixture.expectInstalled("a", "1.10")
    try fixture.expectInstalled("a", "1.9", isCurrent: false)
    #expect(try await queue.availableUpdates().isEmpty)
  }

  @Test("Installed content is not fetched again, and an older version never becomes current")
  func secondPurchase() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let observer = RecordingObserver.delivering(of: queue)
    let payment = Payment(productIdentifier: "a")
    let first = queue.add(payment)
    await observer.wait { $0.removed == [first] }
    // Another fetch would fail, because the archives are removed.
    try FileManager.default.removeItem(atPath: "\(fixture.storePath)/targets/a/1.0")
    let second = queue.add(payment)
    await observer.wait { $0.removed == [first, second] }
    #expect(observer.log.transactions[second]?.downloads.first?.state == .finished)
    try fixture.expectInstalled("a", "1.0")
  }

  /// A queue with one active download at a time, which waits for `gate`, and its published
  /// products.
  private func oneAtATime(of products: [String], behind gate: Gate) throws
    -> (fixture: StoreFixture, queue: PaymentQueue)
  {
    let fixture = try StoreFixture()
    for name in products { try fixture.publish(name, "1.0") }
    let queue = try fixture.queue {
      $0.maximumActiveDownloads = 1
      $0.fileSystem = gate.fileSystem(closedAt: "/data.bin")
    }
    return (fixture, queue)
  }

  @Test("Raising the limit while downloads run starts more of them")
  func activeLimit() async throws {
    let gate = Gate()
    let (fixture, queue) = try oneAtATime(of: ["a", "b"], behind: gate)
    defer { withExtendedLifetime(fixture) {} }
    let observer = RecordingObserver.delivering(of: queue)
    for name in ["a", "b"] {
      queue.add(Payment(productIdentifier: try ProductIdentifier(validating: name)))
    }
    await observer.wait { log in
      log.downloads.count == 2 && log.downloads.values.contains { $0.state == .active }
    }
    await gate.waitUntilReached()
    #expect(queue.transactions.flatMap(\.downloads).filter { $0.state == .active }.count == 1)
    queue.setMaximumActiveDownloads(2)
    await gate.waitUntilReached()
    gate.open()
    await observer.wait { $0.removed.count == 2 }
  }

  @Test("A waiting download is queued once it was started, until it is active")
  func queued() async throws {
    let gate = Gate()
    let (fixture, queue) = try oneAtATime(of: ["a", "b"], behind: gate)
    defer { withExtendedLifetime(fixture) {} }
    let observer = RecordingObserver(of: queue)
    for name in ["a", "b"] {
      queue.add(Payment(productIdentifier: try ProductIdentifier(validating: name)))
    }
    await observer.wait { $0.downloads.count == 2 }
    let downloads = queue.transactions.flatMap(\.downloads)
    #expect(downloads.map(\.state) == [.waiting, .waiting])
    #expect(downloads.map(\.isQueued) == [false, false])
    queue.start(downloads)
    await gate.waitUntilReached()
    await observer.wait { log in log.downloads.values.contains { $0.isQueued } }
    #expect(downloads.map(\.state) == [.active, .waiting])
    #expect(downloads.map(\.isQueued) == [false, true])
    gate.open()
    await observer.wait { log in log.downloads.values.allSatisfy { $0.state == .finished } }
    #expect(downloads.map(\.isQueued) == [false, false])
  }

  @Test("A products request calls its delegate and lists invalid identifiers")
  func productsRequest() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let delegate = RequestDelegate()
    let request = queue.productsRequest(["a", "unknown", "../x", ""])
    request.delegate = delegate
    request.start()
    let response = await delegate.response()
    #expect(response?.products.map(\.productIdentifier.rawValue) == ["a"])
    #expect(response?.products.first?.isDownloadable == true)
    #expect(response?.products.first?.downloadContentVersion?.rawValue == "1.0")
    #expect(response?.invalidProductIdentifiers == ["", "../x", "unknown"])
  }

  private final class WeakRequest {
    weak var request: ProductsRequest?
  }

  @Test("A products request that its delegate cancels calls nothing more")
  func cancelledRequest() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let delegate = CancellingDelegate()
    let reference = WeakRequest()
    var request: ProductsRequest? = queue.productsRequest(["a"])
    reference.request = request
    request?.delegate = delegate
    request?.start()
    await waitUntil { !delegate.calls.isEmpty }
    // It is released after its last call.
    request = nil
    await waitUntil { reference.request == nil }
    #expect(delegate.calls == ["received"])
  }
}

/// A service that never responds.
struct SilentService: PartialService {
  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    try await Task.sleep(for: .seconds(3600))
    return .deferred
  }
}

/// Waits for the end of a request.
final class RequestDelegate: ProductsRequestDelegate {
  private let responses: AsyncStream<ProductsResponse?>
  private let continuation: AsyncStream<ProductsResponse?>.Continuation

  init() { (responses, continuation) = AsyncStream.makeStream() }

  func response() async -> ProductsResponse? {
    for await response in responses { return response }
    return nil
  }

  func productsRequest(_ request: ProductsRequest, didReceive response: ProductsResponse) {
    continuation.yield(response)
  }

  func request(_ request: ProductsRequest, didFailWithError error: ContentError) {
    continuation.yield(nil)
  }
}

/// Cancels the request when the response arrives, and records the calls.
private final class CancellingDelegate: ProductsRequestDelegate {
  private let log = Mutex<[String]>([])

  var calls: [String] { log.withLock { $0 } }

  func productsRequest(_ request: ProductsRequest, didReceive response: ProductsResponse) {
    log.withLock { $0.append("received") }
    request.cancel()
  }

  func requestDidFinish(_ request: ProductsRequest) { log.withLock { $0.append("finished") } }

  func request(_ request: ProductsRequest, didFailWithError error: ContentError) {
    log.withLock { $0.append("failed") }
  }
}
