public import Foundation

/// Who is asked while a transaction is under way; called on the delivery queue.
public protocol SKPaymentQueueDelegate: NSObjectProtocol {
  /// Whether a purchasing transaction goes on in another storefront.
  ///
  /// False, and an answer that takes more than a second, fails it with
  /// `SKError.storeProductNotAvailable`.
  func paymentQueue(
    _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
    in newStorefront: SKStorefront
  ) -> Bool

  /// Whether a screen about a subscription's new price is shown; never asked here.
  func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
}

extension SKPaymentQueueDelegate {
  /// It goes on.
  public func paymentQueue(
    _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
    in newStorefront: SKStorefront
  ) -> Bool { true }

  /// It is shown.
  public func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { true }
}
