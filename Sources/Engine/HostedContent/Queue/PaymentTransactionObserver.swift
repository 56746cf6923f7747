public import ContentModel

/// What a service is told about its queue.
///
/// All calls come on the queue's delivery queue, one after the other, in the order in which things
/// happened; never under a lock. Inside a call everything is allowed: finishing, adding, starting,
/// cancelling, removing this observer, blocking (which delays later calls, not the engine). What a
/// handle says does not change during a call. There is no order among several observers.
/// Source: `SKPaymentTransactionObserver`.
public protocol PaymentTransactionObserver: AnyObject, Sendable {
  /// Transactions were added or changed state; at each launch all that are unfinished.
  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction])

  /// Transactions are gone because they were finished; each is reported once.
  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction])

  /// Downloads changed state or progressed: only these, of one or more transactions.
  ///
  /// Progress is reported at most 10 times a second.
  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download])

  /// Something that was asked of the queue could not be done, such as finishing a `.purchasing`
  /// transaction, or could not be written down, or what an earlier run left behind could not be
  /// removed. Nothing was lost; the error says what to do.
  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError)

  /// Every restored transaction was reported. Their downloads wait to be started.
  func paymentQueueRestoreCompletedTransactionsFinished(_ queue: PaymentQueue)

  /// The restore ended early; what was reported before stays.
  func paymentQueue(
    _ queue: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError)

  /// A restore ended; by default this calls one of the two above.
  func paymentQueue(_ queue: PaymentQueue, restoreEndedWith result: RestoreResult)

  /// The user chose a product outside the service. True adds the payment now; false refuses it, and
  /// the service may add it later. One observer that says true is enough.
  func paymentQueue(
    _ queue: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool

  /// The account's storefront is another one; prices and products may be, too.
  func paymentQueueDidChangeStorefront(_ queue: PaymentQueue)

  /// An account lost products; their content stays installed until the service removes it.
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

  /// Refuses.
  public func paymentQueue(
    _ queue: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool { false }

  /// Does nothing.
  public func paymentQueueDidChangeStorefront(_ queue: PaymentQueue) {}

  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, didRevoke revocation: Revocation) {}
}

/// How a restore ended.
public struct RestoreResult: Hashable, Sendable {
  /// What `restoreCompletedTransactions` returned.
  public let identifier: RestoreID
  /// What it found and is unfinished; also what an earlier restore brought.
  public let transactions: [PaymentTransaction]
  /// Why the rest cannot be had; nil when everything was found.
  public let error: ContentError?
}

/// Who is asked while a transaction is under way.
///
/// Source: `SKPaymentQueueDelegate`.
public protocol PaymentQueueDelegate: AnyObject, Sendable {
  /// The storefront changed while `transaction` was `.purchasing`: whether it goes on there.
  ///
  /// False fails it with `storefrontRefused`. Called on the delivery queue; true when there is no
  /// delegate.
  func paymentQueue(
    _ queue: PaymentQueue, shouldContinue transaction: PaymentTransaction,
    in storefront: Storefront
  ) -> Bool
}
