import HostedContent
import HostedConcurrency

/// Passes the engine's reports to a StoreKit observer.
// Sendable because its weak references never change, and their objects are called on the delivery
// queue only.
final class ObserverAdapter: PaymentTransactionObserver, @unchecked Sendable {
  private let reference: WeakReference<any SKPaymentTransactionObserver>
  private weak var addingQueue: SKPaymentQueue?
  // The host retains the adapters.
  private weak var host: StoreHost?

  init(
    _ observer: any SKPaymentTransactionObserver, of queue: SKPaymentQueue, _ host: StoreHost
  ) {
    reference = WeakReference(observer)
    addingQueue = queue
    self.host = host
  }

  /// The queue to which the observer was added; the app's queue if it is deallocated.
  private var queue: SKPaymentQueue? { addingQueue ?? host?.appsQueue }

  /// The observer; nil once it is deallocated.
  var observer: (any SKPaymentTransactionObserver)? { reference.object }

  /// Returns whether this is the adapter of `observer`; may be called inside a lock.
  func isAdapter(of observer: any SKPaymentTransactionObserver) -> Bool {
    reference.refers(to: observer)
  }

  /// The observer; nil if it was removed or is deallocated.
  private var listener: (any SKPaymentTransactionObserver)? {
    host?.contains(self) == true ? observer : nil
  }

  /// Calls `body` unless the queue or the observer is deallocated or removed.
  func notify(_ body: (SKPaymentQueue, any SKPaymentTransactionObserver) -> Void) {
    guard let queue, let listener else { return }
    body(queue, listener)
  }

  /// Also passes the objects of the engine's handles; does nothing for an earlier engine.
  private func notify(
    _ engine: PaymentQueue,
    _ body: (SKPaymentQueue, any SKPaymentTransactionObserver, ObjectRegistry) -> Void
  ) {
    guard let objects = host?.objects(of: engine) else { return }
    notify { body($0, $1, objects) }
  }

  func paymentQueue(_ engine: PaymentQueue, updatedTransactions transactions: [PaymentTransaction])
  {
    notify(engine) { $1.paymentQueue($0, updatedTransactions: transactions.map($2.transaction)) }
  }

  func paymentQueue(_ engine: PaymentQueue, removedTransactions transactions: [PaymentTransaction])
  {
    notify(engine) { $1.paymentQueue($0, removedTransactions: transactions.map($2.transaction)) }
  }

  func paymentQueue(_ engine: PaymentQueue, updatedDownloads downloads: [Download]) {
    // Call once per transaction, with all its downloads. Observers written for one download per
    // product decide by a single call whether all contents are installed.
    var reported: Set<PaymentTransaction> = []
    for download in downloads where reported.insert(download.transaction).inserted {
      notify(engine) {
        $1.paymentQueue($0, updatedDownloads: download.transaction.downloads.map($2.download))
      }
    }
  }

  func paymentQueue(_ _: PaymentQueue, didFailWith error: ContentError) {
    // Every observer receives the error, but the host reports it once.
    if let host, let listener, listener === host.observers.first {
      host.refuse(error, while: "using the queue")
    }
  }

  func paymentQueueRestoreCompletedTransactionsFinished(_ engine: PaymentQueue) {
    notify(engine) { queue, observer, _ in
      observer.paymentQueueRestoreCompletedTransactionsFinished(queue)
    }
  }

  func paymentQueue(
    _ engine: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError
  ) {
    notify(engine) { queue, observer, _ in
      observer.paymentQueue(
        queue, restoreCompletedTransactionsFailedWithError: error.storeKitError)
    }
  }

  func paymentQueue(
    _ engine: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool {
    guard let queue, let listener, let host else { return false }
    return listener.paymentQueue(
      queue, shouldAddStorePayment: SKPayment(payment),
      for: SKProduct(product, host.language, engine.storefront))
  }

  func paymentQueueDidChangeStorefront(_ engine: PaymentQueue) {
    notify(engine) { queue, observer, _ in observer.paymentQueueDidChangeStorefront(queue) }
  }

  func paymentQueue(_ engine: PaymentQueue, didRevoke revocation: Revocation) {
    notify(engine) { queue, observer, _ in
      observer.paymentQueue(
        queue,
        didRevokeEntitlementsForProductIdentifiers: revocation.productIdentifiers.map(\.rawValue))
    }
  }
}
