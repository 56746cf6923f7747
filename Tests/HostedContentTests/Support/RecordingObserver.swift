import HostedModel
import HostedContent
import HostedTestSupport

/// An observer that records reports, runs actions, and can be waited for.
final class RecordingObserver: PaymentTransactionObserver {
  /// All reports, with values at the time of the report.
  struct Log: Sendable {
    var transactionStates: [TransactionID: [TransactionState]] = [:]
    var downloadStates: [DownloadID: [DownloadState]] = [:]
    var progress: [DownloadID: [Double]] = [:]
    var transactions: [TransactionID: PaymentTransaction] = [:]
    var downloads: [DownloadID: Download] = [:]
    var removed: [TransactionID] = []
    var errors: [ContentError] = []
    var calls: [String] = []
    /// The results of restores; nil for success.
    var restoreEnds: [ContentError?] = []
    var revocations: [Revocation] = []
    var revoked: [ProductIdentifier] { revocations.flatMap(\.productIdentifiers) }
    var promoted: [ProductIdentifier] = []
    var storefronts: [String?] = []

    func download(of product: String) -> Download? {
      downloads.values.first { $0.contentIdentifier.rawValue == product }
    }

    func transaction(of product: String) -> PaymentTransaction? {
      transactions.values.first { $0.payment.productIdentifier.rawValue == product }
    }
  }

  private let watched = Watched(Log())
  private let onTransactions: @Sendable (PaymentQueue, [PaymentTransaction]) -> Void
  private let onDownloads: @Sendable (PaymentQueue, [Download]) -> Void

  private let wantsPromoted: Bool

  /// Creates an observer, and adds it to `queue` unless nil.
  init(
    of queue: PaymentQueue? = nil, wantsPromoted: Bool = false,
    onTransactions: @escaping @Sendable (PaymentQueue, [PaymentTransaction]) -> Void = { _, _ in },
    onDownloads: @escaping @Sendable (PaymentQueue, [Download]) -> Void = { _, _ in }
  ) {
    self.wantsPromoted = wantsPromoted
    self.onTransactions = onTransactions
    self.onDownloads = onDownloads
    queue?.add(self)
  }

  /// Creates an observer as in the documentation: it starts purchased and finishes installed ones.
  static func delivering(of queue: PaymentQueue? = nil) -> RecordingObserver {
    RecordingObserver(
      of: queue,
      onTransactions: { queue, transactions in
        for transaction in transactions {
          switch transaction.transactionState {
          case .purchased, .restored:
            if transaction.downloads.allSatisfy({ $0.state == .finished }) {
              queue.finishTransaction(transaction)
            } else {
              queue.start(transaction.downloads)
            }
          case .failed: queue.finishTransaction(transaction)
          case .purchasing, .deferred: break
          }
        }
      },
      onDownloads: { queue, downloads in
        for transaction in Set(downloads.map(\.transaction))
        where transaction.downloads.allSatisfy({ $0.state == .finished }) {
          queue.finishTransaction(transaction)
        }
      })
  }

  var log: Log { watched.value }

  /// Returns when `condition` is true for the reports.
  func wait(_ condition: @escaping @Sendable (Log) -> Bool) async {
    await watched.wait(until: condition)
  }

  private func record(_ change: (inout Log) -> Void) { watched.change(change) }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    onTransactions(queue, transactions)
    record { log in
      log.calls.append("updatedTransactions")
      for transaction in transactions {
        log.transactionStates[transaction.id, default: []].append(transaction.transactionState)
        log.transactions[transaction.id] = transaction
      }
    }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    onDownloads(queue, downloads)
    record { log in
      log.calls.append("updatedDownloads")
      for download in downloads {
        if log.downloadStates[download.id]?.last != download.state {
          log.downloadStates[download.id, default: []].append(download.state)
        }
        log.progress[download.id, default: []].append(download.progress)
        log.downloads[download.id] = download
      }
    }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    record { log in
      log.calls.append("removedTransactions")
      log.removed += transactions.map(\.id)
    }
  }

  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    record { $0.errors.append(error) }
  }

  func paymentQueueRestoreCompletedTransactionsFinished(_ queue: PaymentQueue) {
    record { log in
      log.calls.append("restoreFinished")
      log.restoreEnds.append(nil)
    }
  }

  func paymentQueue(
    _ queue: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError
  ) {
    record { log in
      log.calls.append("restoreFailed")
      log.restoreEnds.append(error)
    }
  }

  func paymentQueue(
    _ queue: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool {
    record { $0.promoted.append(product.productIdentifier) }
    return wantsPromoted
  }

  func paymentQueueDidChangeStorefront(_ queue: PaymentQueue) {
    let storefront = queue.storefront?.countryCode
    record { $0.storefronts.append(storefront) }
  }

  func paymentQueue(_ queue: PaymentQueue, didRevoke revocation: Revocation) {
    record { $0.revocations.append(revocation) }
  }
}
