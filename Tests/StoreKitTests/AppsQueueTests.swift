import AppUpdate
import HostedContentTesting
import HostedConcurrency
@testable import StoreKit
import HostedTestTraits
import Testing

/// The app's queue; no other test configures it.
@Suite("The app's own queue", .timeLimit(.hang))
struct AppsQueueTests {
  @Test("It is configured once, and finds and deletes the content of a product")
  func content() async throws {
    let session = try StoreSession()
    try session.publish("book", "1.0")
    var configuration = SKHostConfiguration(queue: try session.configuration())
    configuration.queue.deliveryQueue = DispatchQueue(label: "apps.queue")
    try SKPaymentQueue.configure(configuration)
    #expect(throws: ContentError.self) { try SKPaymentQueue.configure(configuration) }
    #expect(SKPaymentQueue.canMakePayments())
    #expect(SKDownload.contentURL(forProductID: "book") == nil)
    let queue = SKPaymentQueue.default()
    let observer = KitObserver.delivering()
    // Another object for the app's queue, which is not retained.
    SKPaymentQueue().add(observer)
    let payment = SKMutablePayment()
    payment.productIdentifier = "book"
    SKPaymentQueue().add(payment)
    await observer.wait { $0.removed.count == 1 }
    let url = try #require(SKDownload.contentURL(forProductID: "book"))
    #expect(url == observer.log.removed[0].downloads[0].contentURL)
    #expect(FileManager.default.fileExists(atPath: url.appending(path: "ContentInfo.plist").path))
    SKDownload.deleteContent(forProductID: "book")
    #expect(SKDownload.contentURL(forProductID: "book") == nil)
    #expect(!FileManager.default.fileExists(atPath: url.path))
    #expect(SKDownload.contentURL(forProductID: "no identifier") == nil)
    queue.close()
    #expect(queue.transactions.isEmpty && queue.transactionObservers.isEmpty)
  }

  @Test("Deleting the content of a product deletes all its contents")
  func severalContents() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("course", content: "lesson.1")
    try fixture.session.publish("course", content: "lesson.2")
    let observer = KitObserver.delivering()
    fixture.queue.add(observer)
    fixture.queue.add(fixture.payment("course"))
    await observer.wait { $0.removed.count == 1 }
    let library = try LibraryReader(fixture.session.library)
    fixture.queue.host.deleteContent(of: "lesson.1")
    #expect(try library.contents().count == 2, "a content of another product")
    fixture.queue.host.deleteContent(of: "course")
    #expect(try library.contents().isEmpty)
    fixture.queue.close()
  }

  @Test("Environment variables replace the configuration call; without both it is a usage error")
  func environment() throws {
    let session = try StoreSession()
    let store = session.storeURL.absoluteString
    let names = ["HOSTEDCONTENT_STORE": store, "HOSTEDCONTENT_LIBRARY": "/tmp/none"]
    let configuration = try SKHostConfiguration(environment: names)
    #expect(configuration.queue.library.path == "/tmp/none")
    #expect(configuration.queue.store.description == store)
    #expect(configuration.queue.trustedRoot == nil)
    let error = #expect(throws: ContentError.self) { try SKHostConfiguration(environment: [:]) }
    #expect(error?.code == .usage)
    #expect(throws: (any Error).self) {
      try SKHostConfiguration(
        environment: names.merging(["HOSTEDCONTENT_ROOT": "/no/such/root"]) { $1 })
    }
    let rootless = try SKHostConfiguration(
      environment: names.merging(["HOSTEDCONTENT_ROOT": ""]) { $1 })
    #expect(rootless.queue.trustedRoot == nil)
    let missing = #expect(throws: ContentError.self) {
      try SKHostConfiguration(
        environment: names.merging(["HOSTEDCONTENT_LIBRARY": ""]) { $1 })
    }
    #expect(missing?.code == .usage)
  }

  @Test("A closed queue does not open the library of the environment instead of its own")
  func closedQueue() throws {
    let fixture = try KitFixture()
    fixture.queue.close()
    let error = #expect(throws: ContentError.self) { try fixture.queue.host.session() }
    #expect(error?.code == .stopped)
  }

  @Test("A trusted root that cannot be read is named in the error")
  func missingRoot() throws {
    let error = #expect(throws: ContentError.self) {
      try SKHostConfiguration(
        store: "https://store.example/", library: URL(filePath: "/tmp/none"),
        trustedRoot: URL(filePath: "/no/such/root"))
    }
    #expect(error?.code == .fileMissing)
    #expect(error?.subject == "/no/such/root")
  }

  @Test("Without a store, payments cannot be made, and one line is logged once")
  func unconfigured() throws {
    let lines = Mutex<[String]>([])
    let host = StoreHost(log: { error in lines.withLock { $0.append("\(error)") } })
    let queue = SKPaymentQueue(host: host)
    for _ in 0..<3 {
      #expect(!host.canMakePayments)
      #expect(queue.storefront == nil && host.contentURL(of: "book") == nil)
      let observer = KitObserver()
      queue.add(observer)
    }
    let line = try #require(lines.withLock { $0.count == 1 ? $0[0] : nil })
    for words in ["SKPaymentQueue.configure", "HOSTEDCONTENT_STORE", "HOSTEDCONTENT_LIBRARY"] {
      #expect(line.contains(words), "\(line)")
    }
    #expect(!line.contains("\n"))
  }

  @Test("Observers of a queue object that is not retained get the error of a restore")
  func unkeptQueue() async throws {
    let session = try StoreSession()
    let taken = try PaymentQueue(session.configuration())
    var configuration = SKHostConfiguration(queue: try session.configuration())
    configuration.onRefusal = { _ in }
    let delivery = DispatchQueue(label: "unkept.queue")
    configuration.queue.deliveryQueue = delivery
    let host = StoreHost()
    #expect(throws: ContentError.self) { try host.configure(configuration) }
    let observer = KitObserver()
    let queue = SKPaymentQueue(host: host)
    queue.add(observer)
    delivery.suspend()
    SKPaymentQueue(host: host).restoreCompletedTransactions()
    delivery.resume()
    await observer.wait { $0.restores.count == 1 }
    #expect(observer.log.restores[0] is SKError)
    taken.close()
  }

  /// Removes another observer when a restore fails.
  private final class RemovingObserver: NSObject, SKPaymentTransactionObserver, Sendable {
    private let other: KitObserver

    init(of other: KitObserver) { self.other = other }

    func paymentQueue(
      _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
    ) {}

    func paymentQueue(
      _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
    ) {
      queue.remove(other)
    }
  }

  @Test("An observer that another one removes does not get the error of a restore")
  func removedDuringRestore() throws {
    let session = try StoreSession()
    let taken = try PaymentQueue(session.configuration())
    var configuration = SKHostConfiguration(queue: try session.configuration())
    configuration.onRefusal = { _ in }
    let delivery = DispatchQueue(label: "removed.observer")
    configuration.queue.deliveryQueue = delivery
    let host = StoreHost()
    #expect(throws: ContentError.self) { try host.configure(configuration) }
    let queue = SKPaymentQueue(host: host)
    let removed = KitObserver()
    let remover = RemovingObserver(of: removed)
    queue.add(remover)
    queue.add(removed)
    queue.restoreCompletedTransactions()
    delivery.sync {}
    #expect(queue.transactionObservers.count == 1)
    #expect(removed.log.restores.isEmpty)
    withExtendedLifetime(remover) {}
    taken.close()
  }

  @Test("The error of opening a library is reported, not only that payments cannot be made")
  func unusableLibrary() throws {
    let session = try StoreSession()
    let taken = try PaymentQueue(session.configuration())
    let codes = Mutex<[ContentError.Code]>([])
    var configuration = SKHostConfiguration(queue: try session.configuration())
    configuration.onRefusal = { error in codes.withLock { $0.append(error.code) } }
    let host = StoreHost()
    #expect(throws: ContentError.self) { try host.configure(configuration) }
    #expect(!host.canMakePayments && codes.withLock { $0 } == [.libraryLocked])
    taken.close()
    #expect(host.canMakePayments)
    host.close()
  }

  private static let mapping: [(ContentError.Code, Int, Int?)] = [
    (.connectionTimedOut, 7, -1001), (.hostNotFound, 7, -1003),
    (.connectionRefused, 7, -1004), (.connectionLost, 7, -1005), (.networkFailed, 7, -1009),
    (.accessDenied, 6, -1012), (.secureConnectionFailed, 7, -1200),
    (.certificateUntrusted, 7, -1202), (.stopped, 2, nil), (.paymentInvalid, 3, nil),
    (.identifierInvalid, 3, nil), (.notEntitled, 4, nil), (.productUnknown, 5, nil),
    (.purchaseDeclined, 4, nil), (.purchaseRevoked, 4, nil), (.notForSale, 4, nil),
    (.voucherRefused, 4, nil), (.purchaseInterrupted, 2, nil), (.awaitingDecision, 0, nil),
    (.serviceFailed, 0, nil), (.storefrontRefused, 5, nil), (.updateRequired, 1, nil),
    (.diskFull, 0, nil),
    (.archiveDamaged, 0, nil), (.signatureInvalid, 0, nil),
  ]

  @Test(
    "The engine's errors have Apple's numbers, and a transaction's are in Apple's domain",
    arguments: mapping)
  func errors(code: ContentError.Code, number: Int, network: Int?) throws {
    let error = ContentError(code, "It failed", remedy: "Fix it", cause: "Because")
    #expect(error.skError.code.rawValue == number)
    let other = error.storeKitError as NSError
    #expect(other.domain == (network == nil ? SKErrorDomain : NSURLErrorDomain))
    #expect(other.code == network ?? number)
    for made in [error.skError as NSError, other] {
      #expect(made.localizedDescription == "It failed: Because")
      #expect(made.userInfo[NSLocalizedRecoverySuggestionErrorKey] as? String == "Fix it")
      #expect(made.userInfo[NSUnderlyingErrorKey] as? ContentError == error)
    }
  }
}
