/// A JSON document that keeps every member, known or unknown.
///
/// Numbers are integers, because the canonical form, which is signed, has only integers.
package enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A number that is not a 64-bit integer; never in metadata.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// The member `key` of an object; nil for other values and if the member does not exist.
  package subscript(key: String) -> JSONValue? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  /// The text of a string; nil for other values.
  package var string: String? { if case .string(let text) = self { text } else { nil } }

  /// The number of an integer; nil for other values.
  package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// The canonical form, over which signatures and key identifiers are computed.
  ///
  /// It has no white space, and members are sorted by code point. Strings escape only `"` and `\`.
  /// A string with control characters is therefore not valid JSON. Source: OLPC Canonical JSON.
  package var canonical: [UInt8] { encoded(escapingControls: false) }

  /// JSON without white space, with members sorted by code point.
  package var encoded: [UInt8] { encoded(escapingControls: true) }

  private func encoded(escapingControls: Bool) -> [UInt8] {
    var encoder = JSONEncoding(escapesControls: escapingControls)
    encoder.append(self)
    return encoder.bytes
  }
}

private struct JSONEncoding {
  let escapesControls: Bool
  var bytes: [UInt8] = []

  mutating func append(_ value: JSONValue) {
    switch value {
    case .null: bytes += "null".utf8
    case .bool(let truth): bytes += (truth ? "true" : "false").utf8
    case .integer(let number): bytes += String(number).utf8
    case .number(let number): bytes += (number.isFinite ? "\(number)" : "null").utf8
    case .string(let text): append(text)
    case .array(let elements):
      appendList(elements, "[", "]") { $0.append($1) }
    case .object(let members):
      // Swift compares strings by canonical equivalence. The canonical form needs code point order,
      // which is the order of UTF-8 bytes.
      let sorted = members.sorted { $0.key.precedesByBytes($1.key) }
      appendList(sorted, "{", "}") { encoding, member in
        encoding.append(member.key)
        encoding.bytes.append(UInt8(ascii: ":"))
        encoding.append(member.value)
      }
    }
  }

  private mutating func appendList<Element>(
    _ elements: [Element], _ open: Unicode.Scalar, _ close: Unicode.Scalar,
    _ append: (inout JSONEncoding, Element) -> Void
  ) {
    bytes.append(UInt8(ascii: open))
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      append(&self, element)
    }
    bytes.append(UInt8(ascii: close))
  }

  private mutating func append(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    let isPlain = text.utf8.withContiguousStorageIfAvailable { utf8 in
      guard utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5c }) else { return false }
      bytes.append(contentsOf: utf8)
      return true
    }
    if isPlain != true { appendEscaped(text) }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ text: String) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0..<0x20 where escapesControls:
        bytes += (byte < 0x10 ? "\\u000" : "\\u00").utf8
        bytes += String(byte, radix: 16).utf8
      default: bytes.append(byte)
      }
    }
  }
}
