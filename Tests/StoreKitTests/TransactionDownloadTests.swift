import HostedContentTesting
import HostedConcurrency
import StoreKit
import HostedTestTraits
import Testing

/// Handlers for one download per product decide by one call whether all contents are installed.
@Suite("Each call about downloads has all downloads of one transaction", .timeLimit(.hang))
struct TransactionDownloadTests {
  /// A typical handler that records its calls.
  private final class Finisher: NSObject, SKPaymentTransactionObserver, Sendable {
    let calls = Mutex<[[SKDownload]]>([])
    let log = KitObserver()

    func paymentQueue(
      _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
    ) {
      log.paymentQueue(queue, updatedTransactions: transactions)
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
      calls.withLock { $0.append(downloads) }
      if downloads.allSatisfy({ $0.contentURL != nil }) {
        queue.finishTransaction(downloads[0].transaction)
      }
      log.paymentQueue(queue, updatedDownloads: downloads)
    }

    func paymentQueue(
      _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]
    ) {
      log.paymentQueue(queue, removedTransactions: transactions)
    }

    /// Returns whether each call had all downloads of one transaction.
    var callsAreComplete: Bool {
      calls.withLock { $0 }.allSatisfy { $0 == $0.first?.transaction.downloads }
    }
  }

  private let fixture: KitFixture
  private let observer = Finisher()

  init() throws {
    fixture = try KitFixture()
    for content in ["course", "course.audio"] as [ProductIdentifier] {
      try fixture.session.publish("course", content: content)
    }
    try fixture.session.publish("book")
  }

  /// Adds payments and waits until all are purchased.
  private func buy(_ products: String...) async -> [SKPaymentTransaction] {
    for product in products { fixture.queue.add(fixture.payment(product)) }
    await observer.log.wait { log in
      log.states.flatMap { $0 }.filter { $0 == .purchased }.count == products.count
    }
    return fixture.queue.transactions
  }

  @Test("A handler that finishes when all downloads of a call are finished loses no content")
  func commonHandler() async throws {
    fixture.queue.add(observer)
    let course = try #require(await buy("course").first)
    try #require(course.downloads.count == 2)
    let (first, second) = (course.downloads[0], course.downloads[1])
    fixture.queue.start([first])
    await observer.log.wait { $0.downloads.contains { $0 === first && $0.state == .finished } }
    fixture.queue.start([second])
    await observer.log.wait { !$0.removed.isEmpty }
    #expect(course.downloads.map(\.state) == [.finished, .finished])
    #expect(observer.callsAreComplete)
    fixture.queue.close()
  }

  @Test("Unfinished transactions are reported at the next launch in one call each")
  func nextLaunch() async throws {
    fixture.queue.add(observer)
    let transactions = await buy("course", "book")
    #expect(transactions.map(\.downloads.count) == [2, 1])
    fixture.queue.close()
    let second = try KitFixture(fixture.session)
    let later = Finisher()
    second.queue.add(later)
    await later.log.wait { $0.downloads.count >= 3 }
    #expect(later.callsAreComplete)
    second.queue.close()
  }

  @Test("An observer that removes itself in a call does not get the next transaction's downloads")
  func removal() async throws {
    final class Leaver: NSObject, SKPaymentTransactionObserver, Sendable {
      let log = KitObserver()
      func paymentQueue(
        _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
      ) {}
      func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        queue.remove(self)
        log.paymentQueue(queue, updatedDownloads: downloads)
      }
    }
    fixture.queue.add(observer)
    _ = await buy("course", "book")
    fixture.queue.close()
    let second = try KitFixture(fixture.session)
    let leaver = Leaver()
    second.queue.add(leaver)
    await leaver.log.wait { !$0.downloads.isEmpty }
    // Waits for the remaining reports of the same engine call.
    second.queue.close()
    #expect(leaver.log.log.downloads.count == 2)
  }

  @Test("A launch does not report the failure of an earlier run to an app that starts it again")
  func earlierFailure() async throws {
    fixture.queue.add(observer)
    let course = try #require(await buy("course").first)
    try #require(course.downloads.count == 2)
    let (first, second) = (course.downloads[0], course.downloads[1])
    fixture.queue.start([first])
    await observer.log.wait { _ in first.state == .finished }
    try fixture.session.setFaults("*.pkg status 500")
    fixture.queue.start([second])
    await observer.log.wait { _ in second.state == .failed }
    fixture.queue.close()
    try fixture.session.setFaults("")
    let next = try KitFixture(fixture.session)
    let states = Mutex<[SKDownloadState]>([])
    let later = KitObserver(
      onTransaction: { queue, transaction in queue.start(transaction.downloads) },
      onDownload: { queue, download in
        let state = download.state
        states.withLock { $0.append(state) }
        if download.transaction.downloads.allSatisfy({ $0.state == .finished }) {
          queue.finishTransaction(download.transaction)
        }
      })
    next.queue.add(later)
    await later.wait { $0.removed.count == 1 }
    let reported = states.withLock { $0 }
    #expect(!reported.contains(.failed), "\(reported)")
    next.queue.close()
  }

  @Test("A download that was paused in an earlier run is reported when it is resumed")
  func earlierPause() async throws {
    fixture.queue.add(observer)
    let book = try #require(await buy("book").first?.downloads.first)
    fixture.queue.pause([book])
    await observer.log.wait { _ in book.state == .paused }
    fixture.queue.close()
    let next = try KitFixture(fixture.session)
    let states = Mutex<[SKDownloadState]>([])
    let later = KitObserver(onDownload: { _, download in
      let state = download.state
      states.withLock { $0.append(state) }
    })
    next.queue.add(later)
    await later.wait { !$0.states.isEmpty }
    let paused = try #require(next.queue.transactions.first?.downloads.first)
    #expect(paused.state == .paused)
    next.queue.resume([paused])
    await later.wait { _ in paused.state == .finished }
    let reported = states.withLock { $0 }
    #expect(!reported.contains(.paused) && !reported.isEmpty, "\(reported)")
    next.queue.close()
  }
}
