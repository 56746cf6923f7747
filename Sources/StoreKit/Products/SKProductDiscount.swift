public import Foundation

/// An offer of a subscription.
///
/// Subscriptions are not supported, so only subclasses in tests have values.
// Sendable because it is immutable.
open class SKProductDiscount: NSObject, @unchecked Sendable {
  /// The payment mode.
  public enum PaymentMode: UInt, Sendable {
    case payAsYouGo = 0
    case payUpFront = 1
    case freeTrial = 2
  }

  /// The type of the offer.
  public enum `Type`: UInt, Sendable {
    case introductory = 0
    case subscription = 1
  }

  /// Creates an empty discount, for subclasses in tests.
  public override init() {}

  /// The price of a period.
  open var price: NSDecimalNumber { .zero }
  /// The language and currency of the price.
  open var priceLocale: Locale { Locale(identifier: "en") }
  /// The offer's identifier; nil for an introductory offer.
  open var identifier: String? { nil }
  /// The length of a period.
  open var subscriptionPeriod: SKProductSubscriptionPeriod { SKProductSubscriptionPeriod() }
  /// The number of periods.
  open var numberOfPeriods: Int { 0 }
  /// The payment mode.
  open var paymentMode: PaymentMode { .payAsYouGo }
  /// The type of the offer.
  open var type: `Type` { .introductory }
}
