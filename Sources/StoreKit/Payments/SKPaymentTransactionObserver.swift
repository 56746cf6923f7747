/// Receives the reports of a queue, one call at a time on the delivery queue.
///
/// A call may use the whole API. The order among several observers is unspecified.
public protocol SKPaymentTransactionObserver: NSObjectProtocol {
  /// Transactions were added or changed state; at each launch, all unfinished ones.
  func paymentQueue(
    _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction])

  /// Transactions were removed because they were finished.
  func paymentQueue(
    _ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction])

  /// A restore failed; transactions that were reported before stay in the queue.
  func paymentQueue(
    _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error)

  /// A restore succeeded; all its transactions were reported. Downloads of new ones are waiting.
  func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue)

  /// Downloads of one transaction changed state or progressed; a call has all of its downloads.
  ///
  /// Also called after unfinished transactions are reported, at launch or to a new observer, unless
  /// one of the transaction's downloads is failed, paused or cancelled.
  func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload])

  /// The user chose a product outside the app; returns whether to add the payment now.
  func paymentQueue(
    _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
  ) -> Bool

  /// The account's storefront changed.
  func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue)

  /// The account lost these products; the configuration's `revokedContent` says whether their
  /// content stays.
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

  /// Returns false; the app may add the payment later.
  public func paymentQueue(
    _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
  ) -> Bool { false }

  /// Does nothing.
  public func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) {}

  /// Does nothing.
  public func paymentQueue(
    _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
  ) {}
}
