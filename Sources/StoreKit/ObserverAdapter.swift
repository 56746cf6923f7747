import HostedContent
import Locks

/// Passes what the engine reports on to an observer of StoreKit's kind, in its words.
// Sendable because its weak references never change, and what is behind them is called on the
// delivery queue only.
final class ObserverAdapter: PaymentTransactionObserver, @unchecked Sendable {
  private let reference: WeakReference<any SKPaymentTransactionObserver>
  private weak var queue: SKPaymentQueue?
  // The host has the adapters.
  private weak var host: StoreHost?

  init(
    _ observer: any SKPaymentTransactionObserver, of queue: SKPaymentQueue, _ host: StoreHost
  ) {
    reference = WeakReference(observer)
    self.queue = queue
    self.host = host
  }

  /// The observer; nil once it is deallocated.
  var observer: (any SKPaymentTransactionObserver)? { reference.object }

  /// Whether this is the adapter of `observer`; may be called inside a lock.
  func isAdapter(of observer: any SKPaymentTransactionObserver) -> Bool {
    reference.refers(to: observer)
  }

  /// Calls `body` unless queue or observer are gone.
  private func tell(
    _ body: (SKPaymentQueue, any SKPaymentTransactionObserver, ObjectRegistry) -> Void
  ) {
    guard let queue, let observer, let session = try? host?.session() else { return }
    body(queue, observer, session.objects)
  }

  /// Payments that never came to the engine.
  func tell(refused transactions: [SKPaymentTransaction]) {
    guard let queue, let observer else { return }
    observer.paymentQueue(queue, updatedTransactions: transactions)
  }

  func tell(removed transactions: [SKPaymentTransaction]) {
    guard let queue, let observer else { return }
    observer.paymentQueue(queue, removedTransactions: transactions)
  }

  func paymentQueue(_ _: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]) {
    tell { $1.paymentQueue($0, updatedTransactions: transactions.map($2.transaction)) }
  }

  func paymentQueue(_ _: PaymentQueue, removedTransactions transactions: [PaymentTransaction]) {
    tell { $1.paymentQueue($0, removedTransactions: transactions.map($2.transaction)) }
  }

  func paymentQueue(_ _: PaymentQueue, updatedDownloads downloads: [Download]) {
    tell { $1.paymentQueue($0, updatedDownloads: downloads.map($2.download)) }
  }

  func paymentQueue(_ _: PaymentQueue, didFailWith error: ContentError) {
    // Every observer hears of it; once is enough for who configured the host.
    if let host, observer === host.observers.first { host.refuse(error, while: "using the queue") }
  }

  func paymentQueueRestoreCompletedTransactionsFinished(_ _: PaymentQueue) {
    tell { queue, observer, _ in observer.paymentQueueRestoreCompletedTransactionsFinished(queue) }
  }

  func paymentQueue(
    _ _: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError
  ) {
    tell { queue, observer, _ in
      observer.paymentQueue(
        queue, restoreCompletedTransactionsFailedWithError: error.storeKitError)
    }
  }

  func paymentQueue(
    _ _: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool {
    guard let queue, let observer, let host else { return false }
    return observer.paymentQueue(
      queue, shouldAddStorePayment: SKPayment(payment),
      for: SKProduct(product, language: host.language))
  }

  func paymentQueueDidChangeStorefront(_ _: PaymentQueue) {
    tell { queue, observer, _ in observer.paymentQueueDidChangeStorefront(queue) }
  }

  func paymentQueue(
    _ _: PaymentQueue,
    didRevokeEntitlementsForProductIdentifiers productIdentifiers: [ProductIdentifier]
  ) {
    tell { queue, observer, _ in
      observer.paymentQueue(
        queue,
        didRevokeEntitlementsForProductIdentifiers: productIdentifiers.map(\.rawValue))
    }
  }
}
