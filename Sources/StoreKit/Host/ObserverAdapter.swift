import HostedContent
import Concurrency

/// Passes what the engine reports on to an observer of StoreKit's kind, in its words.
// Sendable because its weak references never change, and what is behind them is called on the
// delivery queue only.
final class ObserverAdapter: PaymentTransactionObserver, @unchecked Sendable {
  private let reference: WeakReference<any SKPaymentTransactionObserver>
  private weak var addingQueue: SKPaymentQueue?
  // The host has the adapters.
  private weak var host: StoreHost?
  private let isRemoved = Atomic(false)

  init(
    _ observer: any SKPaymentTransactionObserver, of queue: SKPaymentQueue, _ host: StoreHost
  ) {
    reference = WeakReference(observer)
    addingQueue = queue
    self.host = host
  }

  /// The queue object with which the observer was added; the app's one if that is deallocated.
  private var queue: SKPaymentQueue? { addingQueue ?? host?.appsQueue }

  /// The observer; nil once it is deallocated.
  var observer: (any SKPaymentTransactionObserver)? { reference.object }

  /// Whether this is the adapter of `observer`; may be called inside a lock.
  func isAdapter(of observer: any SKPaymentTransactionObserver) -> Bool {
    reference.refers(to: observer)
  }

  /// Lets no further call begin.
  func remove() { isRemoved.store(true, ordering: .releasing) }

  /// The observer, unless it was removed or is deallocated.
  private var listener: (any SKPaymentTransactionObserver)? {
    isRemoved.load(ordering: .acquiring) ? nil : observer
  }

  /// Calls `body` unless queue or observer are gone.
  private func tell(
    _ engine: PaymentQueue,
    _ body: (SKPaymentQueue, any SKPaymentTransactionObserver, ObjectRegistry) -> Void
  ) {
    guard let queue, let listener, let objects = host?.objects(of: engine) else { return }
    body(queue, listener, objects)
  }

  /// Payments that never came to the engine.
  func tell(refused transactions: [SKPaymentTransaction]) {
    guard let queue, let listener else { return }
    listener.paymentQueue(queue, updatedTransactions: transactions)
  }

  func tell(removed transactions: [SKPaymentTransaction]) {
    guard let queue, let listener else { return }
    listener.paymentQueue(queue, removedTransactions: transactions)
  }

  func paymentQueue(_ engine: PaymentQueue, updatedTransactions transactions: [PaymentTransaction])
  {
    tell(engine) { $1.paymentQueue($0, updatedTransactions: transactions.map($2.transaction)) }
  }

  func paymentQueue(_ engine: PaymentQueue, removedTransactions transactions: [PaymentTransaction])
  {
    tell(engine) { $1.paymentQueue($0, removedTransactions: transactions.map($2.transaction)) }
  }

  func paymentQueue(_ engine: PaymentQueue, updatedDownloads downloads: [Download]) {
    // A call for each transaction, with all of its downloads: observers that were written for one
    // download a product decide by one call whether all content is there.
    var told: Set<PaymentTransaction> = []
    for download in downloads where told.insert(download.transaction).inserted {
      tell(engine) {
        $1.paymentQueue($0, updatedDownloads: download.transaction.downloads.map($2.download))
      }
    }
  }

  func paymentQueue(_ _: PaymentQueue, didFailWith error: ContentError) {
    // Every observer hears of it; once is enough for who configured the host.
    if let host, let listener, listener === host.observers.first {
      host.refuse(error, while: "using the queue")
    }
  }

  func paymentQueueRestoreCompletedTransactionsFinished(_ engine: PaymentQueue) {
    tell(engine) { queue, observer, _ in
      observer.paymentQueueRestoreCompletedTransactionsFinished(queue)
    }
  }

  func paymentQueue(
    _ engine: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError
  ) {
    tell(engine) { queue, observer, _ in
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
    tell(engine) { queue, observer, _ in observer.paymentQueueDidChangeStorefront(queue) }
  }

  func paymentQueue(_ engine: PaymentQueue, didRevoke revocation: Revocation) {
    tell(engine) { queue, observer, _ in
      observer.paymentQueue(
        queue,
        didRevokeEntitlementsForProductIdentifiers: revocation.productIdentifiers.map(\.rawValue))
    }
  }
}
