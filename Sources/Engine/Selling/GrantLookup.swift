package import HostedModel

/// A service that can look up a grant without listing all of them.
package protocol GrantLookup: StoreService {
  /// Returns the last grant of `product` to `account`; nil if it was never granted.
  func latestGrant(of product: ProductIdentifier, account: AccountID?) async throws -> Grant?
}

extension StoreService {
  /// Returns the last grant of `product` to `account`; nil if it was never granted.
  package func latest(of product: ProductIdentifier, account: AccountID?) async throws -> Grant? {
    if let service = self as? any GrantLookup {
      return try await service.latestGrant(of: product, account: account)
    }
    return try await grants(account: account).last { $0.payment.productIdentifier == product }
  }
}
