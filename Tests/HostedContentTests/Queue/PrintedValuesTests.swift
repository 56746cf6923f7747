import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Public values print what a log needs: no module names, receipts, tokens and keys.
@Suite("Printed values", .timeLimit(.hang))
struct PrintedValuesTests {
  private static let offer = ContentOffer(
    "com.example.book", version: "1.0", of: "com.example.book")
  private static let payment = Payment(
    productIdentifier: "com.example.book", quantity: 2, applicationUsername: "anna")
  private static let grant = Grant(
    transactionIdentifier: "7", date: Date(timeIntervalSince1970: 0), payment: payment,
    receipt: "SECRET")
  private static let error = ContentError(.usage, "It failed", remedy: "Try again")
  private static let product = Product(
    productIdentifier: "com.example.book", type: .nonConsumable,
    texts: ["en": ProductText(title: "The Book")], price: Price(2.99, currency: "EUR"),
    contents: [offer])
  private static let installed = InstalledContent(
    contentIdentifier: "com.example.book", productIdentifier: "com.example.book", version: "1.0",
    size: 12, entryCount: 3, date: Date(timeIntervalSince1970: 0))

  private static var network: NetworkSettings {
    var network = NetworkSettings()
    network.bearerToken = "SECRET"
    network.headers = ["X-Key": "SECRET"]
    network.proxy = URL(string: "http://user:SECRET@proxy.example:3128").map { .url($0) } ?? .direct
    return network
  }

  /// Checks how `value` prints, alone, in a list, and for the debugger.
  private func expect(
    _ value: Any, _ text: String, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect("\(value)" == text, sourceLocation: location)
    #expect("\([value])" == "[\(text)]", sourceLocation: location)
    #expect(String(reflecting: value) == text, sourceLocation: location)
    for part in ["Hosted", "SECRET"] {
      #expect(!text.contains(part), sourceLocation: location)
    }
  }

  @Test func `states and kinds print their names`() {
    #expect(
      "\(DownloadState.allCases)" == "[waiting, active, paused, finished, failed, cancelled]")
    #expect(
      "\(TransactionState.allCases)" == "[purchasing, purchased, failed, restored, deferred]")
    #expect(
      "\(ProductType.allCases)" == "[non-consumable, consumable, auto-renewable, non-renewing]")
    #expect(
      "\(DownloadPhase.allCases)"
        == "[preparing, waiting, downloading, verifying, unpacking, installing]")
    #expect("\(UpdateMonitor.Policy.allCases)" == "[automatic, notifyOnly, downloadOnly]")
    #expect("\(DiagnosticEvent.Severity.allCases)" == "[info, warning, error]")
    expect(ContentError.Code.diskFull, "400")
    expect(ContentError.Group.diskSpace, "diskSpace")
    expect(RevokedContentPolicy.remove, "remove")
    expect(ReceiptSigningKey.Kind.es256, "es256")
    expect(NetworkSettings.Proxy.direct, "direct")
  }

  @Test func `products, contents and purchases print what they are`() {
    expect(Self.offer, "com.example.book 1.0")
    expect(ContentKey("com.example.book", version: "1.0"), "com.example.book 1.0")
    expect(Self.installed, "com.example.book 1.0 (12 bytes)")
    expect(SignedFile(path: "a/b", length: 5, digest: Self.offer.package.digest), "a/b (5 bytes)")
    expect(
      Self.product,
      "com.example.book (non-consumable) “The Book”, 2.99 EUR, contents: [com.example.book 1.0]")
    expect(ProductText(title: "The\nBook"), "The Book")
    expect(Self.payment, "2 × com.example.book for anna")
    expect(Self.grant, "purchase 7: 2 × com.example.book for anna")
    expect(
      PurchaseOutcome.purchased(Self.grant, contents: [Self.offer]),
      "purchased: purchase 7: 2 × com.example.book for anna, contents: [com.example.book 1.0]")
    expect(PurchaseOutcome.failed(Self.error), "failed: It failed. Try again. [805]")
    expect(PurchaseOutcome.deferred, "deferred")
    expect(
      ProductsResponse(products: [Self.product], invalidProductIdentifiers: ["x"]),
      #"products: [com.example.book]; invalid: ["x"]; failures: []"#)
    expect(CollectionPolicy(keptVersions: 2), "keeps 2 of each content")
    expect(
      CollectionPolicy(maximumBytes: 9), "keeps 1 of each content, at most 9 bytes")
  }

  @Test func `stores and settings print without secrets`() throws {
    let store = try StoreLocation("https://a.example/store?sig=SECRET")
    var reader = StoreReader(store, network: Self.network)
    reader.mirrors = [try StoreLocation("https://b.example/")]
    expect(reader, "https://a.example/store, https://b.example/")
    expect(Self.network.proxy, "proxy.example:3128")
    expect(
      Self.network,
      #"bearer token, headers: ["X-Key"], proxy: proxy.example:3128, "#
        + "timeouts: 15.0 seconds, 15.0 seconds, 90.0 seconds, attempts: 5")
    expect(try ReceiptSigningKey.generate(), "private key")
  }

  @Test func `values for services print what they are`() {
    expect(
      PurchaseOrder(payment: Self.payment, transaction: "t", isRepeated: true),
      "transaction t: 2 × com.example.book for anna, repeated")
    let revocation = Revocation(["a", "b"], account: "anna")
    expect(revocation, "[a, b] for anna")
    expect(
      StoreEventRecord(.revoked(revocation), cursor: "9"), "revoked [a, b] for anna at 9")
    expect(StoreEvent.contentPublished, "content published")
    expect(Storefront(countryCode: "DEU", identifier: "143443"), "DEU (143443)")
    expect(
      RestoredPurchase(original: Self.grant, contents: []),
      "purchase 7: 2 × com.example.book for anna, contents: []")
  }

  @Test func `transactions, downloads and installed contents print their state`() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    defer { queue.close() }
    let observer = RecordingObserver(
      of: queue, onTransactions: { queue, found in found.forEach { queue.start($0.downloads) } })
    queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.download(of: "a")?.state == .finished }
    let download = try #require(observer.log.download(of: "a"))
    expect(download, "a 1.0: finished")
    expect(download.transaction, "transaction \(download.transaction.id): purchased, 1 × a")
    expect(
      QueueReport.transactions([download.transaction]), "transactions: [\(download.transaction)]")
    let entry = try #require(try fixture.reader().contents().first)
    expect(entry, "a 1.0 (\(entry.content.size) bytes), current")
    #expect(!"\(queue.statistics)".contains("Hosted"))
    let library = URL(filePath: fixture.libraryPath)
    expect(try fixture.configuration(), "library: \(library), store: \(fixture.storePath)")
  }
}
