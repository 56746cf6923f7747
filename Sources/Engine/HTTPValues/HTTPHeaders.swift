import HostedModel

/// A header field of a request or a response.
package struct HTTPHeader: Hashable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Creates the header with a bearer token (RFC 6750).
  package init(bearerToken: String) { self.init("Authorization", "Bearer \(bearerToken)") }

  /// Whether this is exactly one header; a line break would start another one.
  package var isWellFormed: Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: ":") }
      && value.utf8.allSatisfy { $0 >= 32 && $0 != 127 || $0 == 9 }
  }

  fileprivate func isNamed(_ other: String) -> Bool {
    let (name, other) = (name.utf8, other.utf8)
    return name.count == other.count
      && zip(name, other).allSatisfy { $0 == $1 || $0.lowercasedLetter == $1.lowercasedLetter }
  }
}

/// The header fields of a request or a response, in order.
///
/// Names are compared without regard to case. There are few fields, so a look-up compares them all.
package struct HTTPHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  package private(set) var fields: [HTTPHeader]

  package init(_ fields: [HTTPHeader] = []) { self.fields = fields }

  /// Creates fields in the order of their names.
  package init(_ values: [String: String]) {
    fields = values.sorted { $0.key < $1.key }.map { HTTPHeader($0.key, $0.value) }
  }

  package init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { HTTPHeader($0.0, $0.1) }
  }

  /// The value of a field, or nil without it; the values of repeated fields are joined by `, `.
  ///
  /// Setting a value replaces all fields with this name by one at the end, and nil removes them.
  package subscript(name: String) -> String? {
    get {
      var joined: String?
      for field in fields where field.isNamed(name) {
        joined = joined.map { "\($0), \(field.value)" } ?? field.value
      }
      return joined
    }
    set {
      fields.removeAll { $0.isNamed(name) }
      if let newValue { fields.append(HTTPHeader(name, newValue)) }
    }
  }

  package func values(of name: String) -> [String] {
    fields.filter { $0.isNamed(name) }.map(\.value)
  }

  /// Adds a field, even if there is one with its name.
  package mutating func append(_ field: HTTPHeader) { fields.append(field) }

  package static func + (first: HTTPHeaders, second: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(first.fields + second.fields)
  }

  /// The values by name in lower case.
  package var byName: [String: String] {
    Dictionary(fields.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
  }
}

extension UInt8 {
  /// The ASCII letter in lower case, and any other byte as it is.
  fileprivate var lowercasedLetter: UInt8 { (0x41...0x5a).contains(self) ? self | 0x20 : self }
}

extension Int64 {
  /// Parses decimal digits; a sign or spaces are invalid.
  package init?(digits text: some StringProtocol) {
    guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
    self.init(text)
  }
}

extension StringProtocol {
  /// The text without spaces, tabs and line breaks at both ends.
  package var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0.isNewline }
    guard let first = firstIndex(where: { !isBlank($0) }),
      let last = lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(self[first...last])
  }
}
