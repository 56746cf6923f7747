import HostedModel
public import FoundationEssentials

/// A value in a server's JSON.
///
/// It is stored unchanged and read tolerantly. Servers write numbers as strings, booleans as 0 and
/// 1, and undocumented fields. The typed properties convert a value, or return nil if it cannot be
/// converted.
public enum JSONField: Hashable, Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// An integer in the range of 64 bits.
  case integer(Int64)
  /// Any other number.
  case double(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONField])
  /// An object. One of several members with the same name is kept.
  case object([String: JSONField])

  /// A string, or a number as digits; nil for others and for an empty string.
  public var string: String? {
    switch self {
    case .string(let text): text.isEmpty ? nil : text
    case .integer(let number): String(number)
    case .double(let number): String(number)
    case .null, .bool, .array, .object: nil
    }
  }

  /// An integer, written as a number or as a string.
  public var integer: Int64? {
    switch self {
    case .integer(let number): number
    case .double(let number): Int64(exactly: number)
    case .string(let text): Int64(text)
    case .null, .bool, .array, .object: nil
    }
  }

  /// A finite number, written as a number or as a string.
  public var double: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number
    case .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .null, .bool, .array, .object: nil
    }
  }

  /// A boolean: `true`, 1, "1", "true", "yes", "y" and their opposites, in any case; an empty
  /// string is false; nil for others.
  public var bool: Bool? {
    switch self {
    case .bool(let truth): truth
    case .integer(0), .double(0): false
    case .integer(1), .double(1): true
    case .string(let text):
      switch text.lowercased() {
      case "1", "true", "yes", "y": true
      case "0", "false", "no", "n", "": false
      default: nil
      }
    case .null, .integer, .double, .array, .object: nil
    }
  }

  /// The strings of an array, without other elements; nil for other values.
  public var strings: [String]? {
    if case .array(let fields) = self { fields.compactMap(\.string) } else { nil }
  }

  /// A URL with a scheme and a host; nil for others.
  public var url: URL? {
    guard case .string(let text) = self, let url = URL(string: text), url.host() != nil,
      url.scheme != nil
    else { return nil }
    return url
  }

  /// The URLs of an array, without other elements; nil for other values.
  var urls: [URL]? {
    if case .array(let fields) = self { fields.compactMap(\.url) } else { nil }
  }

  /// A version, written as a string or as a number; nil if it is invalid.
  var version: AppVersion? { string.flatMap { try? AppVersion(validating: $0) } }

  /// A date in ISO 8601.
  ///
  /// Without a time zone it is in UTC; a day is its first moment.
  var date: Date? {
    guard case .string(let text) = self, text.utf8.count <= 40 else { return nil }
    for completion in ["", "Z", "T00:00:00Z"] {
      if let date = try? Date(text + completion, strategy: .iso8601) { return date }
    }
    return nil
  }

  /// The members of an object; nil for others.
  public var members: [String: JSONField]? {
    if case .object(let members) = self { members } else { nil }
  }
}

extension JSONField: Codable {
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
      self = .double(number)
    } else if let truth = try? container.decode(Bool.self) {
      self = .bool(truth)
    } else if let list = try? container.decode([JSONField].self) {
      self = .array(list)
    } else {
      self = .object(try container.decode([String: JSONField].self))
    }
  }

  /// Writes the value unchanged.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let truth): try container.encode(truth)
    case .integer(let number): try container.encode(number)
    case .double(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let list): try container.encode(list)
    case .object(let members): try container.encode(members)
    }
  }
}

extension JSONField {
  /// Reads a document of at most `limit` bytes.
  ///
  /// Throws `answerUnreadable`, with `source` as its subject.
  init(document bytes: [UInt8], limit: Int, source: String) throws {
    guard bytes.count <= limit else {
      throw ContentError(
        .answerUnreadable, "The answer has more than \(limit) bytes, the maximum",
        remedy: "Request fewer results, or increase the limit", subject: source)
    }
    do {
      // Half of what others may use, because the values are then copied.
      self.init(
        try JSONValue(
          parsing: bytes, limit: limit, rules: .tolerant,
          maximumOverhead: JSONValue.maximumOverhead / 2))
    } catch {
      throw ContentError(
        .answerUnreadable, "The answer is not valid JSON",
        remedy: "Check that the server is a server for app versions", subject: source,
        cause: "line \(Self.line(at: error.offset, in: bytes)): \(error.reason)")
    }
  }

  private init(_ value: JSONValue) {
    self =
      switch value {
      case .null: .null
      case .bool(let truth): .bool(truth)
      case .integer(let number): .integer(number)
      case .number(let number): .double(number)
      case .string(let text): .string(text)
      case .array(let elements): .array(elements.map(JSONField.init))
      case .object(let members): .object(members.mapValues(JSONField.init))
      }
  }

  /// Returns the line of the member or element at `path`, from 1; nil if it does not exist.
  static func line(of path: [String], in bytes: [UInt8]) -> Int? {
    JSONValue.offset(of: path, in: bytes).map { line(at: $0, in: bytes) }
  }

  private static func line(at offset: Int, in bytes: [UInt8]) -> Int {
    bytes[..<offset].reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
  }
}
