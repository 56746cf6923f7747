import StoreKit
import HostedTestSupport

/// A StoreKit observer that records reports and can be waited for.
final class KitObserver: NSObject, SKPaymentTransactionObserver, Sendable {
  struct Log: Sendable {
    /// All reported transactions, with repetitions.
    var transactions: [SKPaymentTransaction] = []
    var states: [[SKPaymentTransactionState]] = []
    var downloads: [SKDownload] = []
    var removed: [SKPaymentTransaction] = []
    var restores: [(any Error)?] = []
    var revoked: [String] = []
    var storefronts: [String?] = []
    var promoted: [String] = []
  }

  private let watched = Watched(Log())
  private let onTransaction: @Sendable (SKPaymentQueue, SKPaymentTransaction) -> Void
  private let onDownload: @Sendable (SKPaymentQueue, SKDownload) -> Void

  init(
    onTransaction: @escaping @Sendable (SKPaymentQueue, SKPaymentTransaction) -> Void = { _, _ in },
    onDownload: @escaping @Sendable (SKPaymentQueue, SKDownload) -> Void = { _, _ in }
  ) {
    self.onTransaction = onTransaction
    self.onDownload = onDownload
  }

  /// Starts purchased and restored transactions, and finishes complete ones.
  static func delivering() -> KitObserver {
    KitObserver(
      onTransaction: { queue, transaction in
        switch transaction.transactionState {
        case .purchased, .restored: queue.start(transaction.downloads)
        case .failed: queue.finishTransaction(transaction)
        case .purchasing, .deferred: break
        }
      },
      onDownload: { queue, download in
        if download.transaction.downloads.allSatisfy({ $0.state == .finished }) {
          queue.finishTransaction(download.transaction)
        }
      })
  }

  var log: Log { watched.value }

  /// Releases all recorded objects.
  func forget() {
    _ = watched.change { log in
      defer { log = Log() }
      return log
    }
  }

  func wait(_ condition: @escaping @Sendable (Log) -> Bool) async {
    await watched.wait(until: condition)
  }

  private func record(_ change: (inout Log) -> Void) { watched.change(change) }

  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
  ) {
    for transaction in transactions { onTransaction(queue, transaction) }
    let states = transactions.map(\.transactionState)
    record { log in
      log.transactions += transactions
      log.states.append(states)
    }
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]
  ) {
    record { $0.removed += transactions }
  }

  func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
    for download in downloads { onDownload(queue, download) }
    record { $0.downloads += downloads }
  }

  func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
    record { $0.restores.append(nil) }
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
  ) {
    record { $0.restores.append(error) }
  }

  func paymentQueue(
    _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
  ) -> Bool {
    let name = product.productIdentifier
    record { $0.promoted.append(name) }
    return true
  }

  func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) {
    let country = queue.storefront?.countryCode
    record { $0.storefronts.append(country) }
  }

  func paymentQueue(
    _ queue: SKPaymentQueue,
    didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
  ) {
    record { $0.revoked += productIdentifiers }
  }
}
