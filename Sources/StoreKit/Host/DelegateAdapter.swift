import HostedContent

/// Calls a StoreKit delegate to decide whether a transaction continues.
// Sendable because its weak references never change, and their objects are called on the delivery
// queue only.
final class DelegateAdapter: PaymentQueueDelegate, @unchecked Sendable {
  private(set) weak var delegate: (any SKPaymentQueueDelegate)?
  private weak var queue: SKPaymentQueue?
  // The host retains the adapter.
  private weak var host: StoreHost?
  private let clock = ContinuousClock()

  /// A response that takes longer counts as false.
  private static let answerTimeout = Duration.seconds(1)

  init(_ delegate: any SKPaymentQueueDelegate, of queue: SKPaymentQueue, _ host: StoreHost) {
    self.delegate = delegate
    self.queue = queue
    self.host = host
  }

  func paymentQueue(
    _ engine: PaymentQueue, shouldContinue transaction: PaymentTransaction,
    in storefront: Storefront
  ) -> Bool {
    guard let delegate, let queue = queue ?? host?.appsQueue,
      let objects = host?.objects(of: engine)
    else { return true }
    let start = clock.now
    let isWanted = delegate.paymentQueue(
      queue, shouldContinue: objects.transaction(transaction),
      in: SKStorefront(storefront))
    return isWanted && clock.now - start <= Self.answerTimeout
  }
}
