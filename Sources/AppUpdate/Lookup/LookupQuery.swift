/// A query for apps by identifier.
///
/// Its URL has at most 8,192 bytes, enough for 200 bundle identifiers of 35 bytes. Source: iTunes
/// Search API, lookup examples.
public struct LookupQuery: Hashable, Sendable {
  /// Identifiers of apps, or of other items in the same store.
  public enum Key: Hashable, Sendable {
    /// Apple IDs, 1 to 200.
    case ids([AppleID])
    /// Bundle identifiers, 1 to 200.
    case bundleIDs([String])
    /// Artist numbers of All Music Guide, 1 to 200.
    case amgArtistIDs([Int64])
    /// Universal product codes of albums or films, 1 to 200.
    case upcs([String])
    /// ISBN numbers of books with 13 digits, 1 to 200.
    case isbns([String])
  }

  /// The identifiers.
  public var key: Key
  /// The storefront; nil uses the server's default, usually the United States.
  public var country: CountryCode?
  /// The type of items to return in addition or instead, such as `software` for all apps of a
  /// seller.
  public var entity: String?
  /// The maximum number of results, 1 to 200; nil uses the server's default.
  public var limit: Int?
  /// Whether the newest results come first.
  public var sortsNewestFirst: Bool

  /// Creates a query for `key`.
  public init(
    _ key: Key, country: CountryCode? = nil, entity: String? = nil, limit: Int? = nil,
    sortsNewestFirst: Bool = false
  ) {
    self.key = key
    self.country = country
    self.entity = entity
    self.limit = limit
    self.sortsNewestFirst = sortsNewestFirst
  }

  /// Throws `queryInvalid` or `appIdentifierInvalid` if the query cannot be sent.
  package func check() throws { _ = try parameters() }

  /// The parameters in a fixed order; throws `queryInvalid` or `appIdentifierInvalid`.
  func parameters(defaultCountry: CountryCode? = nil) throws -> [QueryParameter] {
    let (name, values) = key.parameter
    guard (1...200).contains(values.count) else {
      throw ContentError(
        .queryInvalid, "A lookup takes 1 to 200 identifiers, not \(values.count)",
        remedy: "Split it into several lookups")
    }
    for value in values { try key.check(value) }
    var parameters = [QueryParameter(name, values.joined(separator: ","))]
    parameters += try QueryParameter.common(
      country: country ?? defaultCountry, entity: entity, limit: limit)
    if sortsNewestFirst { parameters.append(QueryParameter("sort", "recent")) }
    return parameters
  }
}

extension LookupQuery.Key {
  fileprivate var parameter: (name: String, values: [String]) {
    switch self {
    case .ids(let ids): ("id", ids.map(\.description))
    case .bundleIDs(let identifiers): ("bundleId", identifiers)
    case .amgArtistIDs(let numbers): ("amgArtistId", numbers.map(String.init))
    case .upcs(let codes): ("upc", codes)
    case .isbns(let numbers): ("isbn", numbers)
    }
  }

  /// Bundle identifiers have letters, digits, hyphens, periods and underscores; others have digits.
  fileprivate func check(_ value: String) throws {
    let others: [UInt8] = if case .bundleIDs = self { Array(".-_".utf8) } else { [] }
    let isValid =
      (1...200).contains(value.utf8.count)
      && value.utf8.allSatisfy { $0.isLetterOrDigit || others.contains($0) }
    guard isValid else {
      throw ContentError(
        .appIdentifierInvalid, "“\(value.printable(limit: 60))” is not an app identifier",
        remedy: "Use a bundle identifier such as com.example.app, or the app's number",
        subject: value.printable(limit: 60))
    }
  }

  /// Whether one of the identifiers matches `listing`.
  func names(_ listing: AppListing) -> Bool {
    switch self {
    case .ids(let ids): listing.trackID.map(ids.contains) ?? false
    case .bundleIDs(let identifiers):
      identifiers.contains { $0.lowercased() == listing.bundleID?.lowercased() }
    // Results do not contain these identifiers.
    case .amgArtistIDs, .upcs, .isbns: true
    }
  }
}
