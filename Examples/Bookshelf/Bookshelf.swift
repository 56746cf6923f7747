import Foundation
import HostedContent

/// A minimal program: buys products, keeps them up to date, and prints their folders.
///
///     Bookshelf [--root FILE] STORE LIBRARY PRODUCT…
@main
final class Bookshelf: PaymentTransactionObserver {
  /// Yields whether a transaction succeeded.
  private let done: AsyncStream<Bool>.Continuation

  init(done: AsyncStream<Bool>.Continuation) { self.done = done }

  static func main() async {
    var words = Array(CommandLine.arguments.dropFirst())
    var root: String?
    if words.first == "--root", words.count > 1 {
      root = words[1]
      words.removeFirst(2)
    }
    guard words.count >= 3 else {
      log("Usage: Bookshelf [--root FILE] STORE LIBRARY PRODUCT…")
      exit(2)
    }
    do {
      var configuration = PaymentQueue.Configuration(
        library: URL(filePath: words[1], directoryHint: .isDirectory),
        store: try StoreLocation(words[0]))
      configuration.trustedRoot = try root.map { [UInt8](try Data(contentsOf: URL(filePath: $0))) }
      exit(try await run(configuration, products: Set(words[2...])) ? 0 : 1)
    } catch {
      log("\(error)")
      exit(1)
    }
  }

  /// Returns whether every product is installed and up to date.
  static func run(_ configuration: PaymentQueue.Configuration, products: Set<String>) async throws
    -> Bool
  {
    let queue = try PaymentQueue(configuration)
    let (ends, done) = AsyncStream.makeStream(of: Bool.self)
    let shelf = Bookshelf(done: done)
    // Purchases of earlier runs continue, also after failed downloads, and are not paid again.
    let unfinished = queue.transactions
    queue.start(unfinished.flatMap(\.downloads))
    queue.add(shelf)
    let response = try await queue.products(products)
    for text in response.invalidProductIdentifiers { log("\(text): not offered") }
    for error in response.failures { log("\(error)") }
    var expected = unfinished.count
    let bought = Set(unfinished.map(\.payment.productIdentifier))
    for product in response.products where !bought.contains(product.productIdentifier) {
      let isInstalled = try product.contents.allSatisfy {
        try queue.installedVersion(of: $0.contentIdentifier) != nil
      }
      // Only the store service knows whether a product without content was bought.
      let isBought = try await queue.isGranted(product.productIdentifier)
      if isInstalled, product.isDownloadable || isBought { continue }
      queue.add(Payment(productIdentifier: product.productIdentifier))
      expected += 1
    }
    for update in try await queue.availableUpdates()
    where !bought.contains(update.productIdentifier) {
      print("\(update.productIdentifier): \(update.installed) → \(update.offered)")
      try await queue.add(update)
      expected += 1
    }
    var isDone = response.invalidProductIdentifiers.isEmpty && response.failures.isEmpty
    var end = ends.makeAsyncIterator()
    for _ in 0..<expected { isDone = await end.next() == true && isDone }
    queue.close()
    return isDone
  }

  static func log(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

  func paymentQueue(_ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]) {
    for transaction in transactions {
      switch transaction.transactionState {
      case .purchased, .restored:
        queue.start(transaction.downloads)
        finishIfComplete(transaction, queue)
      case .failed:
        Self.log(
          "\(transaction.payment.productIdentifier): \(transaction.error?.description ?? "")")
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
        // The transaction stays open, so the next run tries again with the fetched data.
        Self.log("\(download.contentIdentifier): \(download.error?.description ?? "")")
        done.yield(false)
      case .waiting, .paused, .cancelled: break
      }
    }
    for transaction in Set(downloads.map(\.transaction)) { finishIfComplete(transaction, queue) }
  }

  func paymentQueue(_ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]) {
    for transaction in transactions { done.yield(transaction.transactionState != .failed) }
  }

  /// Finishes a transaction after all its contents are installed.
  private func finishIfComplete(_ transaction: PaymentTransaction, _ queue: PaymentQueue) {
    guard transaction.downloads.allSatisfy({ $0.state == .finished }) else { return }
    queue.finishTransaction(transaction)
  }
}
