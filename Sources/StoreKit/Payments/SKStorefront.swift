import HostedContent

/// The storefront of an account.
// Sendable because it is immutable.
open class SKStorefront: NSObject, @unchecked Sendable {
  private let storefront: Storefront

  /// Creates a storefront without a country, for subclasses in tests.
  public override init() { storefront = Storefront(countryCode: "", identifier: "") }

  init(_ storefront: Storefront) { self.storefront = storefront }

  /// The country code and the identifier, such as `FIN fi-1`.
  open override var description: String { "\(countryCode) \(identifier)" }

  /// The country code (ISO 3166-1 alpha-3).
  open var countryCode: String { storefront.countryCode }
  /// The seller's identifier of the storefront.
  open var identifier: String { storefront.identifier }
}
