public import Foundation

/// Who delivers what was bought; called on the delivery queue, one call after the other.
///
/// Inside a call everything is allowed. There is no order among several observers.
public protocol SKPaymentTransactionObserver: NSObjectProtocol {
  /// Transactions were added or changed state; at each launch all that are unfinished.
  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction])

  /// Transactions are gone because they were finished.
  func paymentQueue(
    _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction])

  /// The restore ended early; what came before stays.
  func paymentQueue(
    _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error)

  /// Every restored transaction was reported; their downloads wait to be started.
  func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue)

  /// Downloads of one transaction changed state or progressed; a call has all of its downloads.
  func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload])

  /// The user chose a product outside the app; true adds the payment now.
  func paymentQueue(
    _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
  ) -> Bool

  /// The account's storefront is another one.
  func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue)

  /// The account lost these products; what is installed stays until the app removes it.
  func paymentQueue(
    _ queue: SKPaymentQueue,
    didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String])
}

extension SKPaymentTransactionObserver {
  /// Does nothing.
  public func paymentQueue(
    _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]
  ) {}

  /// Does nothing.
  public func paymentQueue(
    _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
  ) {}

  /// Does nothing.
  public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {}

  /// Does nothing.
  public func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {}

  /// Refuses; the app may add the payment later.
  public func paymentQueue(
    _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
  ) -> Bool { false }

  /// Does nothing.
  public func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) {}

  /// Does nothing.
  public func paymentQueue(
    _ queue: SKPaymentQueue,
    didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
  ) {}
}
