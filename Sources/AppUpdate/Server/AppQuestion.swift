/// The parameters of a question to one's own server, by name and decoded.
struct AppQuestion {
  private let values: [String: String]

  init(_ values: [String: String]) { self.values = values }

  subscript(name: String) -> String? { values[name] }

  /// The storefront; nil for any.
  ///
  /// Throws `countryInvalid`.
  var country: CountryCode? {
    get throws { try values["country"].map { try CountryCode($0) } }
  }

  /// The limit, 1 to 200; nil for one that is not.
  func limit(otherwise standard: Int) -> Int? {
    guard let text = values["limit"] else { return standard }
    return Int(text).flatMap { (1...200).contains($0) ? $0 : nil }
  }
}
