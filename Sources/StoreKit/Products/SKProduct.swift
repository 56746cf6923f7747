import HostedContent

/// A product of a store, with its texts, price and content.
// Sendable because it is immutable.
open class SKProduct: NSObject, @unchecked Sendable {
  private let product: Product?
  private let language: String
  private let region: Locale.Region?

  /// A unit of a subscription's length.
  public enum PeriodUnit: UInt, Sendable {
    case day = 0
    case week = 1
    case month = 2
    case year = 3
  }

  /// Creates a product without values, for subclasses in tests.
  public override init() {
    product = nil
    language = "en"
    region = nil
  }

  init(_ product: Product, _ language: String, _ storefront: Storefront?) {
    self.product = product
    self.language = language
    // Locale supports country codes of two and of three letters.
    region = storefront.flatMap { Locale(identifier: "und_\($0.countryCode)").region }
  }

  /// The description in the configured language, or else in English, or in any language.
  open var localizedDescription: String { product?.localizedDescription(in: language) ?? "" }

  /// The title in the configured language, or else in English, or in any language.
  open var localizedTitle: String { product?.localizedTitle(in: language) ?? "" }

  /// The price in the currency of `priceLocale`; 0 if it is free.
  open var price: NSDecimalNumber { NSDecimalNumber(decimal: product?.price?.amount ?? 0) }

  /// A locale with the configured language, the storefront's region and the price's currency.
  ///
  /// A free product has US dollars. The region is nil if the service does not report a storefront.
  open var priceLocale: Locale {
    var components = Locale.Components(identifier: language)
    components.languageComponents.region = region ?? components.languageComponents.region
    components.currency = Locale.Currency(product?.price?.currency ?? "USD")
    return Locale(components: components)
  }

  /// The identifier, the title and the price, such as `com.example.book: Book, 0.99 USD`.
  open override var description: String {
    let title = localizedTitle.isEmpty ? "" : ": \(localizedTitle)"
    return productIdentifier + title + (product?.price.map { ", \($0)" } ?? "")
  }

  /// The product identifier.
  open var productIdentifier: String { product?.productIdentifier.rawValue ?? "" }

  /// Whether it has content to download.
  open var isDownloadable: Bool { product?.isDownloadable ?? false }

  /// Whether it has content to download, under its name of macOS.
  open var downloadable: Bool { isDownloadable }

  /// The size of each download in bytes, Int64 each.
  open var downloadContentLengths: [NSNumber] {
    (product?.downloadContentLengths ?? []).map { NSNumber(value: $0) }
  }

  /// The size of each download in bytes, under its name of macOS.
  open var contentLengths: [NSNumber] { downloadContentLengths }

  /// The version of the first download; empty for a product without content.
  open var downloadContentVersion: String { product?.downloadContentVersion?.rawValue ?? "" }

  /// The version of the first download, under its name of macOS 10.8 to 10.14.
  open var contentVersion: String { downloadContentVersion }

  /// Always false, because accounts do not have families.
  open var isFamilyShareable: Bool { false }

  /// The subscription period; nil, because subscriptions are not supported.
  open var subscriptionPeriod: SKProductSubscriptionPeriod? { nil }

  /// The introductory price; nil, because subscriptions are not supported.
  open var introductoryPrice: SKProductDiscount? { nil }

  /// The subscription group; nil, because subscriptions are not supported.
  open var subscriptionGroupIdentifier: String? { nil }

  /// The subscription offers; empty, because subscriptions are not supported.
  open var discounts: [SKProductDiscount] { [] }
}

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

  /// The type, the price and the number of periods.
  open override var description: String { "\(type): \(price) for \(numberOfPeriods) periods" }

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

/// The period of a subscription.
///
/// Only stores its values, because subscriptions are not supported.
// Sendable because it is immutable.
open class SKProductSubscriptionPeriod: NSObject, @unchecked Sendable {
  private let values: (numberOfUnits: Int, unit: SKProduct.PeriodUnit)

  /// Creates an empty period, for subclasses in tests.
  public override init() { values = (0, .day) }

  private init(_ values: (Int, SKProduct.PeriodUnit)) { self.values = values }

  /// Creates a period; not in Apple's API.
  public convenience init(numberOfUnits: Int, unit: SKProduct.PeriodUnit) {
    self.init((numberOfUnits, unit))
  }

  /// The length, such as `3 month`.
  open override var description: String { "\(numberOfUnits) \(unit)" }

  /// The number of units.
  open var numberOfUnits: Int { values.numberOfUnits }
  /// The unit.
  open var unit: SKProduct.PeriodUnit { values.unit }
}
