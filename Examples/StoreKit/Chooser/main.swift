import Foundation
import StoreKit

// Restores purchases and lets the user choose what to download, as on a new phone. Transactions
// that are not chosen are finished without a download, and can be restored again.
//
//     Chooser [PRODUCT…]

protocol RestoreControllerDelegate: AnyObject {
  func restoreController(_ controller: RestoreController, choose products: [String]) -> Set<String>
  func restoreControllerDidFinish(_ controller: RestoreController, error: Error?)
}

final class RestoreController: NSObject, SKPaymentTransactionObserver {
  weak var delegate: RestoreControllerDelegate?
  private var restored: [SKPaymentTransaction] = []
  private var isRestoring = false

  func restore() {
    isRestoring = true
    SKPaymentQueue.default().restoreCompletedTransactions()
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
  ) {
    for transaction in transactions {
      switch transaction.transactionState {
      case .restored:
        // Those of an earlier run are reported at launch, and by the restore.
        if !restored.contains(transaction) { restored.append(transaction) }
      case .purchased:
        queue.start(transaction.downloads)
        finishIfComplete(transaction, queue)
      case .failed: queue.finishTransaction(transaction)
      case .purchasing, .deferred: break
      @unknown default: break
      }
    }
  }

  func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
    isRestoring = false
    let products = restored.map { $0.original?.payment.productIdentifier ?? "" }
    let chosen = delegate?.restoreController(self, choose: products) ?? []
    for transaction in restored {
      if chosen.contains(transaction.payment.productIdentifier), !transaction.downloads.isEmpty {
        queue.start(transaction.downloads)
      } else {
        queue.finishTransaction(transaction)
      }
    }
    finishIfDone(queue)
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: Error
  ) {
    isRestoring = false
    if (error as? SKError)?.code == .paymentCancelled {
      delegate?.restoreControllerDidFinish(self, error: nil)
    } else {
      delegate?.restoreControllerDidFinish(self, error: error)
    }
  }

  func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
    for transaction in Set(downloads.map { $0.transaction }) {
      finishIfComplete(transaction, queue)
    }
    if let failed = downloads.first(where: { $0.state == .failed }) {
      delegate?.restoreControllerDidFinish(self, error: failed.error)
    }
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]
  ) {
    finishIfDone(queue)
  }

  /// Finishes a transaction when all of its contents are installed.
  private func finishIfComplete(_ transaction: SKPaymentTransaction, _ queue: SKPaymentQueue) {
    guard transaction.downloads.allSatisfy({ $0.state == .finished }) else { return }
    for download in transaction.downloads {
      let path = download.contentURL?.path ?? ""
      print("\(download.contentIdentifier) \(download.contentVersion): \(path)")
    }
    queue.finishTransaction(transaction)
  }

  private func finishIfDone(_ queue: SKPaymentQueue) {
    if !isRestoring && queue.transactions.isEmpty {
      delegate?.restoreControllerDidFinish(self, error: nil)
    }
  }
}

final class App: RestoreControllerDelegate {
  let wanted = Set(CommandLine.arguments.dropFirst())

  func restoreController(_ controller: RestoreController, choose products: [String]) -> Set<String>
  {
    for product in products.sorted() {
      print("\(product): \(wanted.contains(product) ? "chosen" : "left")")
    }
    return wanted
  }

  func restoreControllerDidFinish(_ controller: RestoreController, error: Error?) {
    if let error = error {
      print("Restore failed: \(error.localizedDescription)")
      exit(1)
    }
    exit(0)
  }
}

let app = App()
let controller = RestoreController()
controller.delegate = app
SKPaymentQueue.default().add(controller)
controller.restore()
RunLoop.main.run()
