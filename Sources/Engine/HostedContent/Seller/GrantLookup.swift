import ContentModel

/// A service that can look up grants without listing all of them.
protocol GrantLookup: StoreService {
  /// Returns the first grant of each product of `account`, oldest first.
  func originalGrants(account: String?) async throws -> [Grant]

  /// Returns the last grant of `product` to `account`; nil if it was never granted.
  func latestGrant(of product: ProductIdentifier, account: String?) async throws -> Grant?
}

extension GrantLookup {
  func originalGrants(account: String?) async throws -> [Grant] {
    try await listedOriginals(account: account)
  }
}

extension StoreService {
  /// Returns the first grant of each product of `account`, oldest first.
  ///
  /// These are the originals of later grants.
  func originals(account: String?) async throws -> [Grant] {
    if let service = self as? any GrantLookup {
      return try await service.originalGrants(account: account)
    }
    return try await listedOriginals(account: account)
  }

  fileprivate func listedOriginals(account: String?) async throws -> [Grant] {
    var seen: Set<ProductIdentifier> = []
    return try await grants(account: account).filter {
      seen.insert($0.payment.productIdentifier).inserted
    }
  }

  /// Returns the last grant of `product` to `account`; nil if it was never granted.
  func latest(of product: ProductIdentifier, account: String?) async throws -> Grant? {
    if let service = self as? any GrantLookup {
      return try await service.latestGrant(of: product, account: account)
    }
    return try await grants(account: account).last { $0.payment.productIdentifier == product }
  }
}
