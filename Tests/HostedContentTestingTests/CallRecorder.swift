import HostedContentTesting
import HostedTestSupport

/// Records the calls of a queue; with `delivers`, handles them like the documentation's observer.
final class CallRecorder: PaymentTransactionObserver {
  /// The calls, with values at the time of the call.
  struct Calls: Hashable, Sendable {
    /// The states of each product's transactions and downloads; repeated ones are listed once.
    var states: [String: [String]] = [:]
    /// How often each state of a transaction was reported.
    var counts: [String: Int] = [:]
    var failures: [String: ContentError.Code] = [:]
    var revoked: [String] = []
    /// The ends of restores; nil for success.
    var restores: [ContentError.Code?] = []
    var errors: [ContentError.Code] = []

    /// Whether the last transaction of `product` was removed.
    func isRemoved(_ product: String) -> Bool { states[product]?.last == "removed" }

    fileprivate mutating func note(_ state: String, of transaction: PaymentTransaction) {
      let product = transaction.payment.productIdentifier.rawValue
      if states[product]?.last != state { states[product, default: []].append(state) }
    }
  }

  private let watched = Watched(Calls())
  private let delivers: Bool

  init(delivers: Bool = true) { self.delivers = delivers }

  var calls: Calls { watched.value }

  /// Returns when `condition` is true for the calls.
  func wait(_ condition: @escaping @Sendable (Calls) -> Bool) async {
    await watched.wait(until: condition)
  }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    for transaction in transactions {
      let state = transaction.transactionState
      watched.change { calls in
        calls.note("\(state)", of: transaction)
        calls.counts["\(state)", default: 0] += 1
        if let error = transaction.error {
          calls.failures[transaction.payment.productIdentifier.rawValue] = error.code
        }
      }
      guard delivers else { continue }
      switch state {
      case .purchased, .restored:
        queue.start(transaction.downloads)
        finishIfComplete(transaction, queue)
      case .failed: queue.finishTransaction(transaction)
      case .purchasing, .deferred: break
      }
    }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    for download in downloads {
      let state = download.state
      watched.change { $0.note("download \(state)", of: download.transaction) }
    }
    guard delivers else { return }
    for transaction in Set(downloads.map(\.transaction)) { finishIfComplete(transaction, queue) }
  }

  private func finishIfComplete(_ transaction: PaymentTransaction, _ queue: PaymentQueue) {
    if transaction.downloads.allSatisfy({ $0.state == .finished }) {
      queue.finishTransaction(transaction)
    }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    watched.change { calls in
      for transaction in transactions { calls.note("removed", of: transaction) }
      calls.counts["removed", default: 0] += transactions.count
    }
  }

  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    watched.change { $0.errors.append(error.code) }
  }

  func paymentQueueRestoreCompletedTransactionsFinished(_ queue: PaymentQueue) {
    watched.change { $0.restores.append(nil) }
  }

  func paymentQueue(
    _ queue: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError
  ) {
    watched.change { $0.restores.append(error.code) }
  }

  func paymentQueue(_ queue: PaymentQueue, didRevoke revocation: Revocation) {
    watched.change { $0.revoked += revocation.productIdentifiers.map(\.rawValue) }
  }
}

/// A service on its own machine: a queue with its own library.
struct Machine {
  let queue: PaymentQueue
  let recorder: CallRecorder

  /// Opens the library `name`; without `delivers`, its observer only records.
  init(
    _ server: StoreServerSession, _ name: String = "library", delivers: Bool = true,
    _ change: (inout PaymentQueue.Configuration) -> Void = { _ in }
  ) throws {
    var configuration = try server.configuration(library: name)
    change(&configuration)
    queue = try PaymentQueue(configuration)
    recorder = CallRecorder(delivers: delivers)
    queue.add(recorder)
  }
}

extension Payment {
  init(_ product: ProductIdentifier, account: AccountID? = nil) {
    self.init(productIdentifier: product, applicationUsername: account)
  }
}

extension StoreServerSession {
  /// The last transaction of a product.
  func transaction(of product: ProductIdentifier, account: AccountID? = nil) throws
    -> TransactionID?
  {
    try purchases(account: account).last { $0.productIdentifier == product }?.transaction
  }
}
