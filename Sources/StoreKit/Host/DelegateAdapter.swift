import HostedContent

/// Asks a delegate of StoreKit's kind whether a transaction goes on.
// Sendable because its weak references never change, and what is behind them is called on the
// delivery queue only.
final class DelegateAdapter: PaymentQueueDelegate, @unchecked Sendable {
  private(set) weak var delegate: (any SKPaymentQueueDelegate)?
  private weak var queue: SKPaymentQueue?
  // The host has the adapter.
  private weak var host: StoreHost?
  private let clock = ContinuousClock()

  /// An answer that takes longer counts as no.
  private static let patience = Duration.seconds(1)

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
    return isWanted && clock.now - start <= Self.patience
  }
}
