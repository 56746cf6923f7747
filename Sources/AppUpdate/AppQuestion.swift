/// The parameters of a query; of those that are repeated the first counts.
struct AppQuestion {
  private let values: [String: String]

  /// Reads a query of at most 8 KiB; nil for a longer one and for one that is not UTF-8.
  init?(_ query: String) {
    guard query.utf8.count <= 8 << 10 else { return nil }
    var values: [String: String] = [:]
    for item in query.split(separator: "&") {
      let sides = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = Self.decoded(sides[0]),
        let value = Self.decoded(sides.dropFirst().first ?? "")
      else { return nil }
      if values[name] == nil { values[name] = value }
    }
    self.values = values
  }

  subscript(name: String) -> String? { values[name] }

  /// The storefront; the United States where none is named.
  ///
  /// Throws `countryInvalid`.
  var country: CountryCode {
    get throws { try values["country"].map { try CountryCode($0) } ?? .us }
  }

  /// The limit, 1 to 200; nil for one that is not.
  func limit(otherwise standard: Int) -> Int? {
    guard let text = values["limit"] else { return standard }
    return Int(text).flatMap { (1...200).contains($0) ? $0 : nil }
  }

  /// The text with plus signs as spaces and escapes resolved, as forms write it; nil for an escape
  /// without two digits and for what is not UTF-8.
  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        continue
      }
      let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      guard digits.count == 2 else { return nil }
      bytes.append(UInt8(digits[0] << 4 | digits[1]))
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
