import Foundation
import StoreKit

// A product with several downloads: shows their common progress, and finishes the transaction after
// the last one. A failed download is tried once more.
//
//     Course PRODUCT

final class CourseLoader: NSObject, SKPaymentTransactionObserver {
  static let shared = CourseLoader()

  private var retried: Set<SKPaymentTransaction> = []
  private var completion: ((Result<[URL], Error>) -> Void)?
  private var folders: [URL] = []

  func load(_ productIdentifier: String, completion: @escaping (Result<[URL], Error>) -> Void) {
    self.completion = completion
    let payment = SKMutablePayment()
    payment.productIdentifier = productIdentifier
    SKPaymentQueue.default().add(payment)
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
  ) {
    for transaction in transactions {
      switch transaction.transactionState {
      case .purchased, .restored:
        print("\(transaction.downloads.count) downloads")
        queue.start(transaction.downloads)
        finishIfComplete(transaction, queue)
      case .failed:
        queue.finishTransaction(transaction)
        completion?(.failure(transaction.error ?? SKError(.unknown)))
      case .purchasing, .deferred:
        break
      @unknown default:
        break
      }
    }
  }

  func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
    for transaction in Set(downloads.map { $0.transaction }) {
      let all = transaction.downloads
      let total = all.reduce(Int64(0)) { $0 + $1.expectedContentLength }
      let loaded = all.reduce(0.0) { $0 + Double($1.progress) * Double($1.expectedContentLength) }
      print("\(Int(loaded / Double(max(total, 1)) * 100)) %")
      if all.allSatisfy({ $0.state == .finished || $0.state == .failed }) {
        retry(all.filter { $0.state == .failed }, of: transaction, queue)
      }
      finishIfComplete(transaction, queue)
    }
  }

  /// Starts failed downloads once more, after all downloads of the transaction have ended.
  private func retry(
    _ failed: [SKDownload], of transaction: SKPaymentTransaction, _ queue: SKPaymentQueue
  ) {
    guard let first = failed.first else { return }
    if retried.insert(transaction).inserted {
      queue.start(failed)
    } else {
      completion?(.failure(first.error ?? SKError(.unknown)))
    }
  }

  /// Finishes a transaction when all of its contents are installed.
  private func finishIfComplete(_ transaction: SKPaymentTransaction, _ queue: SKPaymentQueue) {
    guard transaction.downloads.allSatisfy({ $0.state == .finished }) else { return }
    folders = transaction.downloads.compactMap { $0.contentURL }
    queue.finishTransaction(transaction)
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]
  ) {
    completion?(.success(folders))
  }
}

guard CommandLine.arguments.count == 2 else {
  print("Usage: Course PRODUCT")
  exit(2)
}
SKPaymentQueue.default().add(CourseLoader.shared)
CourseLoader.shared.load(CommandLine.arguments[1]) { result in
  switch result {
  case .success(let folders):
    folders.forEach { print($0.path) }
    exit(0)
  case .failure(let error as SKError) where error.code == .storeProductNotAvailable:
    print("Not for sale")
    exit(1)
  case .failure(let error):
    print(error.localizedDescription)
    exit(1)
  }
}
RunLoop.main.run()
