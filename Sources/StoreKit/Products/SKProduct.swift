public import Foundation
import HostedContent

/// What a store offers: words, price and the content that belongs to it.
// Sendable because nothing of it changes.
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

  /// Creates a product that no store offers, for subclasses in tests.
  public override init() {
    product = nil
    language = "en"
    region = nil
  }

  init(_ product: Product, _ language: String, _ storefront: Storefront?) {
    self.product = product
    self.language = language
    // Locale knows the region of both kinds of codes, of two letters and of three.
    region = storefront.flatMap { Locale(identifier: "und_\($0.countryCode)").region }
  }

  /// A description in the configured language, else in English, else in any.
  open var localizedDescription: String { product?.localizedDescription(in: language) ?? "" }

  /// A short name in the configured language, else in English, else in any.
  open var localizedTitle: String { product?.localizedTitle(in: language) ?? "" }

  /// The price in the currency of `priceLocale`; 0 when it is free.
  open var price: NSDecimalNumber { NSDecimalNumber(decimal: product?.price?.amount ?? 0) }

  /// The configured language, the storefront's region and the price's currency, for a formatter.
  ///
  /// A free product has US dollars. The region is nil if the seller names no storefront.
  open var priceLocale: Locale {
    var components = Locale.Components(identifier: language)
    components.languageComponents.region = region ?? components.languageComponents.region
    components.currency = Locale.Currency(product?.price?.currency ?? "USD")
    return Locale(components: components)
  }

  /// The name by which it is asked for and paid.
  open var productIdentifier: String { product?.productIdentifier.rawValue ?? "" }

  /// Whether it has content to download.
  open var isDownloadable: Bool { product?.isDownloadable ?? false }

  /// Whether it has content to download, by the name of macOS.
  open var downloadable: Bool { isDownloadable }

  /// The size of each download in bytes, Int64 each.
  open var downloadContentLengths: [NSNumber] {
    (product?.downloadContentLengths ?? []).map { NSNumber(value: $0) }
  }

  /// The size of each download in bytes, by the name of macOS.
  open var contentLengths: [NSNumber] { downloadContentLengths }

  /// The version of the first download; empty for a product without content.
  open var downloadContentVersion: String { product?.downloadContentVersion?.rawValue ?? "" }

  /// The version of the first download, by the name of macOS 10.8 to 10.14.
  open var contentVersion: String { downloadContentVersion }

  /// Whether a family shares it: never, since the engine knows accounts only.
  open var isFamilyShareable: Bool { false }

  /// A subscription's length; nil, since the engine sells no subscriptions.
  open var subscriptionPeriod: SKProductSubscriptionPeriod? { nil }

  /// A subscription's introductory price; nil, since the engine sells no subscriptions.
  open var introductoryPrice: SKProductDiscount? { nil }

  /// A subscription's group; nil, since the engine sells no subscriptions.
  open var subscriptionGroupIdentifier: String? { nil }

  /// A subscription's offers; empty, since the engine sells no subscriptions.
  open var discounts: [SKProductDiscount] { [] }
}
