/// Where an app was found, or why it was not: the reasons for `resultCount` 0, told apart.
public enum AppFinding: Hashable, Sendable {
  /// The wanted storefront offers it.
  case offered(AppListing)
  /// The wanted storefront offers it, but caches did not know it yet: the look-up lags behind.
  case lagging(AppListing)
  /// The wanted storefront does not offer it; this one does.
  case elsewhere(AppListing, CountryCode)
  /// None of the storefronts that were asked knows it: the identifier is wrong, the app was
  /// withdrawn, it is newer than the look-up, or it is sold only where nobody asked.
  case unknown(tried: [CountryCode])

  /// The app, wherever it was found.
  public var listing: AppListing? {
    switch self {
    case .offered(let listing), .lagging(let listing), .elsewhere(let listing, _): listing
    case .unknown: nil
    }
  }
}

extension AppLookup {
  /// Finds one app in `country`, or says why it is not there by asking the `candidates` as well.
  ///
  /// Without a result it asks the same storefront past all caches, then each candidate in turn, so
  /// that it makes at most `candidates.count + 2` calls. Throws as `lookUp` does.
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
        return .elsewhere(listing, candidate)
      }
    }
    return .unknown(tried: tried)
  }

  private func first(
    _ key: LookupQuery.Key, in country: CountryCode, _ entity: String?, _ caching: LookupCachePolicy
  ) async throws -> AppListing? {
    let answer = try await lookUp(
      LookupQuery(key, country: country, entity: entity), caching: caching)
    return answer.results.first(where: key.names)
  }
}
