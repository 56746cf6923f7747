import Foundation
import StoreKit

// Buys products, copies their content, and finishes, with one observer for everything as in an app
// of 2013. On Linux it needs HOSTEDCONTENT_STORE and HOSTEDCONTENT_LIBRARY; the same code runs on
// an iPhone.
//
//     Keeper DOCUMENTS PRODUCT…

class StoreManager: NSObject, SKProductsRequestDelegate, SKPaymentTransactionObserver {
  let documents: URL
  var productsRequest: SKProductsRequest?
  var pending = Set<String>()

  init(documents: URL) {
    self.documents = documents
  }

  func buy(_ identifiers: [String]) {
    pending = Set(identifiers)
    let request = SKProductsRequest(productIdentifiers: pending)
    request.delegate = self
    productsRequest = request
    request.start()
  }

  // MARK: SKProductsRequestDelegate

  func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
    let formatter = NumberFormatter()
    formatter.numberStyle = .currency
    for product in response.products {
      formatter.locale = product.priceLocale
      let size = product.downloadContentLengths.first?.int64Value ?? 0
      print(
        "\(product.localizedTitle): \(formatter.string(from: product.price) ?? ""), \(size) bytes")
      SKPaymentQueue.default().add(SKPayment(product: product))
    }
    for identifier in response.invalidProductIdentifiers {
      print("\(identifier): not for sale")
      done(identifier)
    }
  }

  func request(_ request: SKRequest, didFailWithError error: Error) {
    print("Cannot reach the store: \(error.localizedDescription)")
    exit(1)
  }

  // MARK: SKPaymentTransactionObserver

  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
  ) {
    for transaction in transactions {
      switch transaction.transactionState {
      case .purchased, .restored:
        queue.start(transaction.downloads)
        finishIfComplete(transaction, queue)
      case .failed:
        if let error = transaction.error as? SKError, error.code != .paymentCancelled {
          print("\(transaction.payment.productIdentifier): \(error.localizedDescription)")
        }
        queue.finishTransaction(transaction)
      case .purchasing, .deferred:
        break
      @unknown default:
        break
      }
    }
  }

  func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
    for download in downloads {
      switch download.state {
      case .active:
        print("\(download.contentIdentifier): \(Int(download.progress * 100)) %")
      case .failed:
        // Not finished: it continues at the next launch.
        print("\(download.contentIdentifier): \(download.error?.localizedDescription ?? "failed")")
        done(download.transaction.payment.productIdentifier)
      case .waiting, .paused, .cancelled, .finished:
        break
      @unknown default:
        break
      }
    }
    for transaction in Set(downloads.map { $0.transaction }) {
      finishIfComplete(transaction, queue)
    }
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]
  ) {
    transactions.forEach { done($0.payment.productIdentifier) }
  }

  // MARK: Content

  /// Copies all contents of a transaction after they are installed, then finishes it.
  func finishIfComplete(_ transaction: SKPaymentTransaction, _ queue: SKPaymentQueue) {
    guard transaction.downloads.allSatisfy({ $0.state == .finished }) else { return }
    do {
      for download in transaction.downloads { try keep(download) }
      queue.finishTransaction(transaction)
    } catch {
      print("\(transaction.payment.productIdentifier): \(error.localizedDescription)")
      exit(1)
    }
  }

  /// Copies Contents to DOCUMENTS/<product>/<version>, before its transaction is finished.
  func keep(_ download: SKDownload) throws {
    guard let contentURL = download.contentURL else { return }
    let manager = FileManager.default
    let folder = documents.appendingPathComponent(download.contentIdentifier)
    let target = folder.appendingPathComponent(download.contentVersion)
    try manager.createDirectory(at: folder, withIntermediateDirectories: true)
    if manager.fileExists(atPath: target.path) {
      try manager.removeItem(at: target)
    }
    try manager.copyItem(at: contentURL.appendingPathComponent("Contents"), to: target)
    print("\(download.contentIdentifier): kept \(download.contentVersion)")
  }

  func done(_ identifier: String) {
    pending.remove(identifier)
    if pending.isEmpty {
      exit(0)
    }
  }
}

let words = CommandLine.arguments
guard words.count > 2, SKPaymentQueue.canMakePayments() else {
  print("Usage: Keeper DOCUMENTS PRODUCT…")
  exit(2)
}
let manager = StoreManager(documents: URL(fileURLWithPath: words[1]))
SKPaymentQueue.default().add(manager)
manager.buy(Array(words.dropFirst(2)))
RunLoop.main.run()
