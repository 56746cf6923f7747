/// The decoded path and query of a request target.
package struct RequestLocation: Sendable, Hashable {
  /// The components of the path.
  ///
  /// No component contains a NUL, or a slash unless escaped slashes are allowed.
  package let components: [String]
  /// The parameters of the query, in the order in which they were sent.
  package let query: [Parameter]

  /// A parameter of a query.
  package struct Parameter: Sendable, Hashable {
    package let name: String
    package let value: String
  }

  /// The decoded path from the root.
  package var path: String { "/" + components.joined(separator: "/") }

  package func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// Parses origin-form and absolute-form targets (RFC 9112, 3.2); nil for anything else.
  ///
  /// Components are decoded after the split at slashes, so that an escaped slash cannot create a
  /// new component. An escaped NUL, an incomplete escape, and invalid UTF-8 are refused, and an
  /// escaped slash unless it is allowed.
  package init?(_ target: String, allowsEscapedSlashes: Bool = false) {
    guard let origin = Self.originForm(target), !origin.utf8.contains(UInt8(ascii: "#")) else {
      return nil
    }
    let parts = origin.utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    var components: [String] = []
    for part in parts[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .dropFirst()
    {
      guard let component = Self.decoded(part),
        !component.utf8.contains(0),
        allowsEscapedSlashes || !component.utf8.contains(UInt8(ascii: "/"))
      else { return nil }
      components.append(component)
    }
    var query: [Parameter] = []
    for part in parts.count == 2 ? parts[1].split(separator: UInt8(ascii: "&")) : [] {
      let sides = part.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = Self.decoded(sides[0], plusIsSpace: true),
        let value = sides.count == 2 ? Self.decoded(sides[1], plusIsSpace: true) : ""
      else { return nil }
      query.append(Parameter(name: name, value: value))
    }
    self.components = components
    self.query = query
  }

  private static func originForm(_ target: String) -> Substring? {
    if target.utf8.first == UInt8(ascii: "/") { return target[...] }
    let lower = target.lowercased()
    guard lower.hasPrefix("http://") || lower.hasPrefix("https://") else { return nil }
    // In bytes, because a slash before a combining mark is another `Character`.
    let (slash, query) = (UInt8(ascii: "/"), UInt8(ascii: "?"))
    let authority = target.utf8.drop { $0 != slash }.dropFirst(2)
    let path = authority.drop { $0 != slash && $0 != query }
    return path.first == slash ? Substring(path) : Substring("/\(Substring(path))")
  }

  private static func decoded(_ text: Substring.UTF8View, plusIsSpace: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(hexValue),
          let low = rest.popFirst().flatMap(hexValue)
        else { return nil }
        bytes.append(high << 4 | low)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
  }
}
