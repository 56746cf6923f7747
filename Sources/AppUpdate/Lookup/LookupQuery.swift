/// A query for apps by identifier.
///
/// Its URL has at most 8,192 bytes, enough for 200 bundle identifiers of 35 bytes. Source: iTunes
/// Search API, lookup examples.
public struct LookupQuery: Hashable, Sendable, CustomStringConvertible {
  /// Identifiers of apps, or of other items in the same store.
  public enum Key: Hashable, Sendable, CustomStringConvertible {
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

    /// The parameter of the URL, such as `bundleId=com.example.app`.
    public var description: String {
      let (name, values) = parameter
      return "\(name)=\(values.joined(separator: ","))"
    }

    fileprivate var parameter: (name: String, values: [String]) {
      switch self {
      case .ids(let ids): ("id", ids.map(\.description))
      case .bundleIDs(let identifiers): ("bundleId", identifiers)
      case .amgArtistIDs(let numbers): ("amgArtistId", numbers.map(String.init))
      case .upcs(let codes): ("upc", codes)
      case .isbns(let numbers): ("isbn", numbers)
      }
    }

    /// Bundle identifiers have letters, digits, hyphens, periods, underscores; others have digits.
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

  /// The query of its URL, such as `bundleId=com.example.app&country=fi`.
  public var description: String {
    let parameters = try? parameters()
    return parameters?.map(\.encoded).joined(separator: "&") ?? "\(key)"
  }
}

/// A search by words.
///
/// It has all parameters of the API except `callback`, which would return JavaScript instead of
/// JSON. Source: iTunes Search API, search parameters.
public struct SearchQuery: Hashable, Sendable, CustomStringConvertible {
  /// The search term, 1 to 500 bytes.
  public var term: String
  /// The storefront; nil uses the server's default, usually the United States.
  public var country: CountryCode?
  /// The media type, such as `software`.
  public var media: String?
  /// The type of results: `software`, `iPadSoftware`, `macSoftware`.
  public var entity: String?
  /// The field to search, such as `softwareDeveloper`.
  public var attribute: String?
  /// The maximum number of results, 1 to 200.
  ///
  /// The server's default is 50.
  public var limit: Int?
  /// The language of the results, such as `en_us` or `ja_jp`.
  ///
  /// It does not select the storefront.
  public var language: String?
  /// The version of the result's keys, 1 or 2; nil uses the server's default.
  public var version: Int?
  /// Whether the results include explicit content; nil uses the server's default.
  public var includesExplicit: Bool?

  /// Creates a search for apps.
  public init(
    _ term: String, country: CountryCode? = nil, media: String? = "software",
    entity: String? = "software"
  ) {
    self.term = term
    self.country = country
    self.media = media
    self.entity = entity
  }

  /// The parameters in a fixed order; throws `queryInvalid`.
  func parameters(defaultCountry: CountryCode? = nil) throws -> [QueryParameter] {
    guard (1...500).contains(term.utf8.count) else {
      throw ContentError(
        .queryInvalid, "The search term has \(term.utf8.count) bytes, expected 1 to 500",
        remedy: "Search for fewer words")
    }
    guard version.map((1...2).contains) ?? true else {
      throw ContentError(
        .queryInvalid, "Invalid result version \(version ?? 0), expected 1 or 2",
        remedy: "Omit the version")
    }
    var parameters = [QueryParameter("term", term)]
    parameters += try QueryParameter.common(
      country: country ?? defaultCountry, entity: entity, limit: limit)
    for (name, word) in [("media", media), ("attribute", attribute), ("lang", language)] {
      if let word { parameters.append(try QueryParameter(name, word: word)) }
    }
    if let version { parameters.append(QueryParameter("version", "\(version)")) }
    if let includesExplicit {
      parameters.append(QueryParameter("explicit", includesExplicit ? "Yes" : "No"))
    }
    return parameters
  }

  /// The query of its URL, such as `term=book&media=software`.
  public var description: String {
    let parameters = try? parameters()
    return parameters?.map(\.encoded).joined(separator: "&") ?? "term=\(term)"
  }
}

struct QueryParameter: Hashable {
  let name: String
  let value: String

  init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// A parameter that servers ignore; it makes the URL unique, so that caches do not answer it.
  static var unique: Self { Self("fresh", "\(UInt64.random(in: .min ... .max))") }

  /// Creates a parameter with a word of ASCII letters, digits and underscores as its value.
  ///
  /// Throws `queryInvalid` for other values.
  init(_ name: String, word: String) throws {
    let isWord =
      (1...60).contains(word.utf8.count)
      && word.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
    guard isWord else {
      throw ContentError(
        .queryInvalid, "“\(word.printable(limit: 60))” is not a valid value of \(name)",
        remedy: "Use a value from the server's documentation")
    }
    self.init(name, word)
  }

  static func common(country: CountryCode?, entity: String?, limit: Int?) throws -> [Self] {
    var parameters: [Self] = []
    if let country { parameters.append(Self("country", country.rawValue)) }
    if let entity { parameters.append(try Self("entity", word: entity)) }
    if let limit {
      guard (1...200).contains(limit) else {
        throw ContentError(
          .queryInvalid, "Invalid limit \(limit), expected 1 to 200",
          remedy: "Use several queries for more results")
      }
      parameters.append(Self("limit", "\(limit)"))
    }
    return parameters
  }

  /// `name=value` with all characters escaped that are not unreserved (RFC 3986).
  ///
  /// The plus sign is escaped too, because servers read it as a space.
  var encoded: String {
    "\(PercentEncoding.component(name))=\(PercentEncoding.component(value))"
  }
}
