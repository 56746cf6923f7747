/// The result of a search for an app.
///
/// It distinguishes the reasons for a `resultCount` of 0.
public enum AppFinding: Hashable, Sendable {
  /// The requested storefront offers the app.
  case offered(AppListing)
  /// The requested storefront offers the app, but caches do not have it yet.
  case lagging(AppListing)
  /// The requested storefront does not offer the app, but this one does.
  case elsewhere(AppListing, in: CountryCode)
  /// No storefront in `tried` has the app.
  ///
  /// The identifier is wrong, the app was withdrawn, the lookup does not have it yet, or it is sold
  /// in other countries only.
  case unknown(tried: [CountryCode])

  /// The app, if it was found.
  public var listing: AppListing? {
    switch self {
    case .offered(let listing), .lagging(let listing), .elsewhere(let listing, in: _): listing
    case .unknown: nil
    }
  }
}

extension AppLookup {
  /// Finds an app in `country`.
  ///
  /// If it is not there, also asks the `candidates`, to find the reason. Without a result, it asks
  /// the same storefront again without caches, then each candidate in turn: at most
  /// `candidates.count + 2` calls. Throws like `lookUp`.
  public func find(
    _ key: LookupQuery.Key, country: CountryCode? = nil, candidates: [CountryCode] = [],
    entity: String? = nil, caching: LookupCachePolicy = .useCache
  ) async throws -> AppFinding {
    let wanted = country ?? configuration.country
    if let listing = try await first(key, in: wanted, entity, caching) { return .offered(listing) }
    if caching != .reloadIgnoringAllCaches,
      let listing = try await first(key, in: wanted, entity, .reloadIgnoringAllCaches)
    {
      return .lagging(listing)
    }
    var tried = [wanted]
    for candidate in candidates where !tried.contains(candidate) {
      tried.append(candidate)
      if let listing = try await first(key, in: candidate, entity, caching) {
        return .elsewhere(listing, in: candidate)
      }
    }
    return .unknown(tried: tried)
  }

  private func first(
    _ key: LookupQuery.Key, in country: CountryCode, _ entity: String?, _ caching: LookupCachePolicy
  ) async throws -> AppListing? {
    let answer = try await lookUp(
      LookupQuery(key, country: country, entity: entity), caching: caching)
    return answer.listings.first(where: key.names)
  }
}
