import ContentModel

/// A service that finds grants of an account without listing all of them.
protocol GrantLookup: StoreService {
  /// The first grant of each product of `account`, oldest first.
  func originalGrants(account: String?) async throws -> [Grant]

  /// The last grant of `product` to `account`; nil if there is none.
  func latestGrant(of product: ProductIdentifier, account: String?) async throws -> Grant?
}

extension GrantLookup {
  func originalGrants(account: String?) async throws -> [Grant] {
    try await listedOriginals(account: account)
  }
}

extension StoreService {
  /// The first grant of each product of `account`, oldest first: it is the original of later ones.
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

  /// The last grant of `product` to `account`; nil if there is none.
  func latest(of product: ProductIdentifier, account: String?) async throws -> Grant? {
    if let service = self as? any GrantLookup {
      return try await service.latestGrant(of: product, account: account)
    }
    return try await grants(account: account).last { $0.payment.productIdentifier == product }
  }
}
