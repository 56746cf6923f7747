import FoundationEssentials
import HostedContent

/// The service of Examples/Bookshelf without an observer of its own.
///
///     AsyncBookshelf STORE LIBRARY PRODUCT…
@main
enum AsyncBookshelf {
  static func main() async {
    let words = CommandLine.arguments.dropFirst()
    guard words.count >= 3 else { return print("Usage: AsyncBookshelf STORE LIBRARY PRODUCT…") }
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
    defer { queue.close() }
    let progress = Task { await showProgress(of: queue) }
    defer { progress.cancel() }

    // What an earlier run bought and did not finish.
    for transaction in queue.transactions {
      switch transaction.transactionState {
      case .purchased, .restored:
        _ = try await queue.install(transaction)
        try await queue.finish(transaction)
      case .failed: try await queue.finish(transaction)
      case .purchasing, .deferred: break
      }
    }
    let response = try await queue.products(products)
    for text in response.invalidProductIdentifiers { print("\(text): not offered") }
    for product in response.products {
      let installed = try product.contents.allSatisfy {
        try queue.installedVersion(of: $0.contentIdentifier) != nil
      }
      if installed, product.isDownloadable { continue }
      let folders = try await queue.deliver(
        Payment(productIdentifier: product.productIdentifier))
      for folder in folders { print("\(product.productIdentifier): \(folder.path())") }
    }
    let check = try await UpdateMonitor(queue, policy: .automatic).check()
    for update in check.installed {
      print("\(update.contentIdentifier): \(update.installed) → \(update.offered)")
    }
    for (update, error) in check.failures { print("\(update.contentIdentifier): \(error)") }
    for content in try await queue.obsoleteContents() {
      print("\(content.contentIdentifier) \(content.version): no longer offered")
    }
  }

  static func showProgress(of queue: PaymentQueue) async {
    for await report in queue.reports {
      guard case .downloads(let updates) = report else { continue }
      for update in updates where update.state == .active {
        print("\(update.download.contentIdentifier): \(Int(update.progress * 100)) %")
      }
    }
  }
}
