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

  /// Downloads changed state or moved on, several at once; progress at most 10 times a second.
  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download])

  /// Something that was asked of the queue could not be done, such as finishing a `.purchasing`
  /// transaction, or could not be written down. Nothing was lost; the error says what to do.
  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError)
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
}
