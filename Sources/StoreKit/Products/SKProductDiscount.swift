public import Foundation

/// A subscription's offer.
///
/// Holds its values only: the engine sells no subscriptions.
// Sendable because nothing of it changes.
open class SKProductDiscount: NSObject, @unchecked Sendable {
  /// How it is paid.
  public enum PaymentMode: UInt, Sendable {
    case payAsYouGo = 0
    case payUpFront = 1
    case freeTrial = 2
  }

  /// Whom it is for.
  public enum `Type`: UInt, Sendable {
    case introductory = 0
    case subscription = 1
  }

  /// What a discount holds.
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

  /// Creates a discount of nothing, for subclasses in tests.
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
  /// The offer's name; nil for an introductory one.
  open var identifier: String? { values.identifier }
  /// The length of a period.
  open var subscriptionPeriod: SKProductSubscriptionPeriod { values.period }
  /// How many periods.
  open var numberOfPeriods: Int { values.numberOfPeriods }
  /// How it is paid.
  open var paymentMode: PaymentMode { values.paymentMode }
  /// Whom it is for.
  open var type: `Type` { values.type }
}
