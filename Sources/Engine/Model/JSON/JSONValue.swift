/// A JSON value that keeps every member, known or unknown.
public enum JSONValue: Hashable, Sendable, CustomStringConvertible, Codable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// An integer in the range of 64 bits.
  case integer(Int64)
  /// Any other number; never in signed metadata.
  case number(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object([String: JSONValue])

  /// The member `key` of an object; nil for other values and if the member does not exist.
  public subscript(key: String) -> JSONValue? { members?[key] }

  /// The value of `true` or `false`; nil for other values.
  public var bool: Bool? { if case .bool(let truth) = self { truth } else { nil } }

  /// The number of an integer; nil for other values.
  public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// The text of a string; nil for other values.
  public var string: String? { if case .string(let text) = self { text } else { nil } }

  /// The elements of an array; nil for other values.
  public var elements: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The members of an object; nil for other values.
  public var members: [String: JSONValue]? {
    if case .object(let members) = self { members } else { nil }
  }

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

  /// The value as JSON without white space, with members sorted by code point.
  public var description: String { String(decoding: encoded, as: UTF8.self) }

  /// Reads any value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let number = try? container.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let truth = try? container.decode(Bool.self) {
      self = .bool(truth)
    } else if let elements = try? container.decode([JSONValue].self) {
      self = .array(elements)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// Writes the value unchanged.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let truth): try container.encode(truth)
    case .integer(let number): try container.encode(number)
    case .number(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
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
