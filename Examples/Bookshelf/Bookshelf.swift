import FoundationEssentials
import HostedContent

/// A service in its smallest form: buys what it is asked for, keeps it up to date, shows where it is.
///
///     Bookshelf STORE LIBRARY PRODUCT…
@main
final class Bookshelf: PaymentTransactionObserver {
  private let done: AsyncStream<Void>.Continuation

  init(done: AsyncStream<Void>.Continuation) { self.done = done }

  static func main() async {
    let words = CommandLine.arguments.dropFirst()
    guard words.count >= 3 else { return print("Usage: Bookshelf STORE LIBRARY PRODUCT…") }
    do {
      try await run(store: words[1], library: words[2], products: Set(words.dropFirst(2)))
    } catch {
      print(error)
    }
  }

  static func run(store: String, library: String, products: Set<String>) async throws {
    let queue = try PaymentQueue(
      PaymentQueue.Configuration(
        library: URL(filePath: library, directoryHint: .isDirectory),
        store: try StoreLocation(store)))
    let (removals, done) = AsyncStream.makeStream(of: Void.self)
    let shelf = Bookshelf(done: done)
    // Added first of all: what an earlier run left unfinished is delivered now.
    queue.add(shelf)

    let response = try await queue.products(products)
    for text in response.invalidProductIdentifiers { print("\(text): not offered") }
    var expected = queue.transactions.count
    for product in response.products {
      for offer in product.contents
      where try queue.installedVersion(of: offer.contentIdentifier) == nil {
        queue.add(Payment(productIdentifier: product.productIdentifier))
        expected += 1
      }
    }
    for update in try await queue.updates() {
      print("\(update.productIdentifier): \(update.installed) → \(update.offered)")
      try await queue.add(update)
      expected += 1
    }
    var removal = removals.makeAsyncIterator()
    for _ in 0..<expected { _ = await removal.next() }
    queue.close()
  }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    for transaction in transactions {
      switch transaction.transactionState {
      case .purchased, .restored:
        queue.start(transaction.downloads)
        finishIfComplete(transaction, queue)
      case .failed:
        print("\(transaction.payment.productIdentifier): \(transaction.error?.description ?? "")")
        queue.finishTransaction(transaction)
      case .purchasing, .deferred: break
      }
    }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    for download in downloads {
      switch download.state {
      case .active:
        print("\(download.contentIdentifier): \(Int(download.progress * 100)) %")
      case .finished:
        print("\(download.contentIdentifier): \(download.contentURL?.path() ?? "")")
      case .failed:
        // The transaction stays open: the next run tries again, keeping what was fetched.
        print("\(download.contentIdentifier): \(download.error?.description ?? "")")
        done.yield()
      case .waiting, .paused, .cancelled: break
      }
    }
    for transaction in Set(downloads.map(\.transaction)) { finishIfComplete(transaction, queue) }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    for _ in transactions { done.yield() }
  }

  /// Finishes a transaction once everything that belongs to it is installed, and not before.
  private func finishIfComplete(_ transaction: PaymentTransaction, _ queue: PaymentQueue) {
    if transaction.downloads.allSatisfy({ $0.state == .finished }) {
      queue.finishTransaction(transaction)
    }
  }
}
