public import Foundation

/// An offer of a subscription.
///
/// Only stores its values, because subscriptions are not supported.
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

  /// The values of a discount.
  struct Values {
    var price = NSDecimalNumber.zero
    var priceLocale = Locale(identifier: "en")
    var identifier: String?
    var period = SKProductSubscriptionPeriod()
    var numberOfPeriods = 0
    var paymentMode = PaymentMode.payAsYouGo
    var type = Type.introductory
  }

  private let values: Values

  /// Creates an empty discount, for subclasses in tests.
  public override init() { values = Values() }

  private init(_ values: Values) { self.values = values }

  /// Creates a discount; not in Apple's API.
  public convenience init(
    identifier: String?, type: `Type`, price: NSDecimalNumber, priceLocale: Locale,
    paymentMode: PaymentMode, numberOfPeriods: Int,
    subscriptionPeriod: SKProductSubscriptionPeriod
  ) {
    self.init(
      Values(
        price: price, priceLocale: priceLocale, identifier: identifier, period: subscriptionPeriod,
        numberOfPeriods: numberOfPeriods, paymentMode: paymentMode, type: type))
  }

  /// The price of a period.
  open var price: NSDecimalNumber { values.price }
  /// The language and currency of the price.
  open var priceLocale: Locale { values.priceLocale }
  /// The offer's identifier; nil for an introductory offer.
  open var identifier: String? { values.identifier }
  /// The length of a period.
  open var subscriptionPeriod: SKProductSubscriptionPeriod { values.period }
  /// The number of periods.
  open var numberOfPeriods: Int { values.numberOfPeriods }
  /// The payment mode.
  open var paymentMode: PaymentMode { values.paymentMode }
  /// The type of the offer.
  open var type: `Type` { values.type }
}
