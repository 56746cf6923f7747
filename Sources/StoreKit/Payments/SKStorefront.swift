public import Foundation
import HostedContent

/// Where an account buys.
// Sendable because nothing of it changes.
open class SKStorefront: NSObject, @unchecked Sendable {
  private let storefront: Storefront

  /// Creates a storefront of no country, for subclasses in tests.
  public override init() { storefront = Storefront(countryCode: "", identifier: "") }

  init(_ storefront: Storefront) { self.storefront = storefront }

  /// ISO 3166-1 alpha-3.
  open var countryCode: String { storefront.countryCode }
  /// The seller's own name for it.
  open var identifier: String { storefront.identifier }
}
