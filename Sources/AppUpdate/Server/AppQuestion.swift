/// The decoded parameters of a query, by name.
struct AppQuestion {
  private let values: [String: String]

  init(_ values: [String: String]) { self.values = values }

  subscript(name: String) -> String? { values[name] }

  /// The storefront; nil for any storefront.
  ///
  /// Throws `countryInvalid`.
  var country: CountryCode? {
    get throws { try values["country"].map { try CountryCode(validating: $0) } }
  }

  /// The limit, 1 to 200; nil if it is invalid.
  func limit(otherwise standard: Int) -> Int? {
    guard let text = values["limit"] else { return standard }
    return Int(text).flatMap { (1...200).contains($0) ? $0 : nil }
  }
}
