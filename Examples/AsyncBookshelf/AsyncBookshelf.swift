import Foundation
import HostedContent

/// Examples/Bookshelf with async calls instead of an observer.
///
///     AsyncBookshelf [--root FILE] STORE LIBRARY PRODUCT…
@main
enum AsyncBookshelf {
  static func main() async {
    var words = Array(CommandLine.arguments.dropFirst())
    var root: String?
    if words.first == "--root", words.count > 1 {
      root = words[1]
      words.removeFirst(2)
    }
    guard words.count >= 3 else {
      log("Usage: AsyncBookshelf [--root FILE] STORE LIBRARY PRODUCT…")
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
    defer { queue.close() }
    let progress = Task { await showProgress(of: queue) }
    defer { progress.cancel() }

    // Continue unfinished purchases of an earlier run.
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
    for text in response.invalidProductIdentifiers { log("\(text): not offered") }
    for error in response.failures { log("\(error)") }
    for product in response.products {
      let isInstalled = try product.contents.allSatisfy {
        try queue.installedVersion(of: $0.contentIdentifier) != nil
      }
      // Only the store service knows whether a product without content was bought.
      let isBought = try await queue.isGranted(product.productIdentifier)
      if isInstalled, product.isDownloadable || isBought { continue }
      let folders = try await queue.deliver(
        Payment(productIdentifier: product.productIdentifier))
      for folder in folders { print("\(product.productIdentifier): \(folder.path())") }
    }
    let check = try await UpdateMonitor(queue, policy: .automatic).check()
    for update in check.installed {
      print("\(update.contentIdentifier): \(update.installed) → \(update.offered)")
    }
    for failure in check.failures { log("\(failure.update.contentIdentifier): \(failure.error)") }
    for content in try await queue.obsoleteContents() {
      print("\(content.contentIdentifier) \(content.version): no longer offered")
    }
    return response.invalidProductIdentifiers.isEmpty && response.failures.isEmpty
      && check.failures.isEmpty
  }

  static func log(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

  static func showProgress(of queue: PaymentQueue) async {
    for await report in queue.reports() {
      guard case .downloads(let updates) = report else { continue }
      for update in updates where update.state == .active {
        print("\(update.download.contentIdentifier): \(Int(update.progress * 100)) %")
      }
    }
  }
}
