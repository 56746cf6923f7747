public import Foundation

/// Decides whether transactions in progress continue; called on the delivery queue.
public protocol SKPaymentQueueDelegate: NSObjectProtocol {
  /// Returns whether a purchasing transaction continues in another storefront.
  ///
  /// If it returns false, or takes more than a second, the transaction fails with
  /// `SKError.storeProductNotAvailable`.
  func paymentQueue(
    _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
    in newStorefront: SKStorefront
  ) -> Bool

  /// Returns whether to show the consent for a subscription's new price; never called here.
  func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
}

extension SKPaymentQueueDelegate {
  /// Returns true.
  public func paymentQueue(
    _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
    in newStorefront: SKStorefront
  ) -> Bool { true }

  /// Returns true.
  public func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { true }
}
