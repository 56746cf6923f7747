/// Receives the reports of a queue.
///
/// All methods are called on the queue's delivery queue, one at a time, in the order of events, and
/// never under a lock. A method may call anything: finish, add, start, cancel, remove this
/// observer. It may also block, which delays later calls but not the engine. Values of handles do
/// not change during a call. The order among several observers is unspecified. Source:
/// `SKPaymentTransactionObserver`.
public protocol PaymentTransactionObserver: AnyObject, Sendable {
  /// Transactions were added or changed state; at each launch, all unfinished ones.
  func paymentQueue(_ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction])

  /// Transactions were removed because they were finished; each is reported at most once.
  func paymentQueue(_ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction])

  /// Downloads changed state or progressed; contains only these, of one or more transactions.
  ///
  /// Progress is reported at most 10 times a second.
  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download])

  /// A request, a write to the journal, or the cleanup of an earlier run failed.
  ///
  /// An example is finishing a `.purchasing` transaction. No data was lost; the error says what to
  /// do.
  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError)

  /// A restore succeeded; all its transactions were reported, and their downloads are waiting.
  func paymentQueueRestoreCompletedTransactionsFinished(_ queue: PaymentQueue)

  /// A restore failed; transactions that were reported before stay in the queue.
  func paymentQueue(
    _ queue: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError)

  /// A restore ended; the default implementation calls one of the two methods above.
  func paymentQueue(_ queue: PaymentQueue, restoreEndedWith result: RestoreResult)

  /// The user chose a product outside the service; returns whether to add the payment now.
  ///
  /// False refuses it; the service may add it later. The payment is added if at least one observer
  /// returns true.
  func paymentQueue(
    _ queue: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool

  /// The account's storefront changed; prices and products may have changed, too.
  func paymentQueueDidChangeStorefront(_ queue: PaymentQueue)

  /// An account lost products.
  ///
  /// Their content stays installed, or is removed later: see
  /// `PaymentQueue.Configuration.revokedContent`.
  func paymentQueue(_ queue: PaymentQueue, didRevoke revocation: Revocation)
}

extension PaymentTransactionObserver {
  /// Does nothing.
  public func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {}

  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {}

  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {}

  /// Does nothing.
  public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: PaymentQueue) {}

  /// Does nothing.
  public func paymentQueue(
    _ queue: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError
  ) {}

  /// Calls `paymentQueueRestoreCompletedTransactionsFinished` or `…FailedWithError`.
  public func paymentQueue(_ queue: PaymentQueue, restoreEndedWith result: RestoreResult) {
    if let error = result.error {
      paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error)
    } else {
      paymentQueueRestoreCompletedTransactionsFinished(queue)
    }
  }

  /// Returns false.
  public func paymentQueue(
    _ queue: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool { false }

  /// Does nothing.
  public func paymentQueueDidChangeStorefront(_ queue: PaymentQueue) {}

  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, didRevoke revocation: Revocation) {}
}

/// The result of a restore.
public struct RestoreResult: Hashable, Sendable, CustomStringConvertible {
  /// The identifier that `restoreCompletedTransactions` returned.
  public let identifier: RestoreID
  /// The restored transactions that are unfinished, including those of an earlier restore.
  public let transactions: [PaymentTransaction]
  /// The error that ended the restore; nil if it succeeded.
  public let error: ContentError?

  /// The identifier, and the transactions or the error.
  public var description: String {
    "\(identifier): \(transactions)\(error.map { ", \($0)" } ?? "")"
  }
}

/// Decides whether a transaction in progress continues.
///
/// Source: `SKPaymentQueueDelegate`.
public protocol PaymentQueueDelegate: AnyObject, Sendable {
  /// The storefront changed; returns whether the `.purchasing` transaction continues there.
  ///
  /// If false, the transaction fails with `storefrontRefused`. If the service has sold the product
  /// meanwhile, another transaction delivers it. Called on the delivery queue. Without a delegate,
  /// transactions continue.
  func paymentQueue(
    _ queue: PaymentQueue, shouldContinue transaction: PaymentTransaction, in storefront: Storefront
  ) -> Bool
}
