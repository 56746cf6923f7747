import ContentStore
import Foundation
import HostedContent
import HostedContentTesting
import StoreKit
import HostedTestSupport
import HostedTestTraits
import Testing

/// The observers of the guides, with products that have zero, one and two contents.
@Suite("The observers in the documentation", .timeLimit(.hang))
struct ShelfTests {
  private static let products: [ProductIdentifier] = [
    "com.example.club", "com.example.book", "com.example.course",
  ]

  private static func session() throws -> StoreSession {
    let session = try StoreSession()
    try session.offer(products[0])
    try session.publish(products[1])
    try session.publish(products[2])
    try session.publish(products[2], content: "com.example.course.audio")
    return session
  }

  private static func contents(of queue: PaymentQueue) throws -> [ProductIdentifier] {
    try ["com.example.book", "com.example.course", "com.example.course.audio"].filter {
      try queue.installedVersion(of: $0) != nil
    }
  }

  @Test("The guide's observer installs every content of a product, then finishes its transaction")
  func readme() async throws {
    let session = try Self.session()
    let queue = try session.launch()
    let shelf = Shelf()
    let events = Events()
    queue.add(shelf)
    queue.add(events)
    for product in Self.products { queue.add(Payment(productIdentifier: product)) }
    await events.removals.wait { $0 >= 3 }
    #expect(try Self.contents(of: queue).count == 3)
    #expect(queue.transactions.isEmpty)
  }

  @Test("The guide's observer finishes failed purchases, and continues failed downloads at launch")
  func failures() async throws {
    let session = try Self.session()
    try session.setDecision(
      .fail(ContentError(.notEntitled, "Not today", remedy: "Wait")), about: Self.products[0])
    try session.setFaults("*.pkg status 404")
    let queue = try session.launch()
    let shelf = Shelf()
    let events = Events()
    queue.add(shelf)
    queue.add(events)
    for product in Self.products.prefix(2) { queue.add(Payment(productIdentifier: product)) }
    await events.removals.wait { $0 >= 1 }
    await events.failures.wait { $0 >= 1 }
    #expect(queue.transactions.map(\.payment.productIdentifier) == [Self.products[1]])
    try session.setFaults("")
    let next = try session.relaunch()
    let later = Events()
    // The counter first: it must not miss a transaction that the observer finishes at once.
    next.add(later)
    next.add(shelf)
    await later.removals.wait { $0 >= 1 }
    #expect(try Self.contents(of: next) == [Self.products[1]])
  }

  @Test("The guide's StoreKit observer copies every content of a product, then finishes")
  func storeKit() async throws {
    let session = try Self.session()
    var configuration = try session.configuration()
    configuration.deliveryQueue = DispatchQueue(label: "shelf")
    let queue = try SKPaymentQueue(configuration: SKHostConfiguration(queue: configuration))
    let documents = session.folder.appending(path: "documents")
    try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
    let copier = Copier(documents: documents)
    let events = SKEvents()
    queue.add(copier)
    queue.add(events)
    for product in Self.products {
      let payment = SKMutablePayment()
      payment.productIdentifier = product.rawValue
      queue.add(payment)
    }
    await events.removals.wait { $0 >= 3 }
    let copied = try FileManager.default.contentsOfDirectory(atPath: documents.path)
    #expect(
      copied.sorted() == ["com.example.book", "com.example.course", "com.example.course.audio"])
    #expect(queue.transactions.isEmpty)
    queue.close()
  }
}

/// Counts reports about transactions and downloads.
private final class Events: PaymentTransactionObserver {
  let removals = Watched(0)
  let failures = Watched(0)

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {}

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) { removals.change { $0 += transactions.count } }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    let failed = downloads.count { $0.state == .failed }
    failures.change { $0 += failed }
  }
}

/// Counts removed StoreKit transactions.
private final class SKEvents: NSObject, SKPaymentTransactionObserver {
  let removals = Watched(0)

  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
  ) {}

  func paymentQueue(
    _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]
  ) { removals.change { $0 += transactions.count } }
}
