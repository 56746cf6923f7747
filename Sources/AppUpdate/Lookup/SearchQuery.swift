/// A search by words.
///
/// It has all parameters of the API except `callback`, which would return JavaScript instead of
/// JSON. Source: iTunes Search API, search parameters.
public struct SearchQuery: Hashable, Sendable {
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
}
