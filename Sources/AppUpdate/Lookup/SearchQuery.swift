/// A search by words.
///
/// Source: iTunes Search API, search parameters.
///
/// All parameters are there but `callback`, which makes the answer JavaScript instead of JSON.
public struct SearchQuery: Hashable, Sendable {
  /// What is searched, 1 to 500 bytes.
  public var term: String
  /// The storefront; nil leaves it to the server, which mostly takes the United States.
  public var country: CountryCode?
  /// The kind of media, such as `software`.
  public var media: String?
  /// The kind of result: `software`, `iPadSoftware`, `macSoftware`.
  public var entity: String?
  /// The field that is searched, such as `softwareDeveloper`.
  public var attribute: String?
  /// The most results, 1 to 200; the server's default is 50.
  public var limit: Int?
  /// The language of the results, such as `en_us` or `ja_jp`; it does not choose the storefront.
  public var language: String?
  /// The version of the result's keys, 1 or 2.
  public var version: Int?
  /// Whether explicit content is among the results.
  public var includesExplicit: Bool?

  /// Searches for apps by words.
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
  func parameters() throws -> [QueryParameter] {
    guard (1...500).contains(term.utf8.count) else {
      throw ContentError(
        .queryInvalid, "A search takes a term of 1 to 500 bytes, not \(term.utf8.count)",
        remedy: "Search for fewer words")
    }
    guard version.map((1...2).contains) ?? true else {
      throw ContentError(
        .queryInvalid, "The version of results is 1 or 2, not \(version ?? 0)",
        remedy: "Leave it out")
    }
    var parameters = [QueryParameter("term", term)]
    parameters += try QueryParameter.common(country: country, entity: entity, limit: limit)
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
