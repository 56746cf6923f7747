/// A name and a value in the query of a URL.
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

  /// The common parameters of lookups and searches.
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
