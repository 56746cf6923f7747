public import FoundationEssentials

/// Tolerant conversions of values that servers send.
///
/// Servers write numbers as strings, and booleans as 0 and 1. Each conversion returns nil if it is
/// impossible.
extension JSONValue {
  /// A string, or a number as digits; nil for others and for an empty string.
  public var stringValue: String? {
    switch self {
    case .string(let text): text.isEmpty ? nil : text
    case .integer(let number): String(number)
    case .number(let number): String(number)
    case .null, .bool, .array, .object: nil
    }
  }

  /// An integer, written as a number or as a string.
  public var integerValue: Int64? {
    switch self {
    case .integer(let number): number
    case .number(let number): Int64(exactly: number)
    case .string(let text): Int64(text)
    case .null, .bool, .array, .object: nil
    }
  }

  /// A finite number, written as a number or as a string.
  public var doubleValue: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    case .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .null, .bool, .array, .object: nil
    }
  }

  /// A boolean: `true`, 1, "1", "true", "yes", "y" and their opposites, in any case; an empty
  /// string is false; nil for others.
  public var boolValue: Bool? {
    switch self {
    case .bool(let truth): truth
    case .integer(0), .number(0): false
    case .integer(1), .number(1): true
    case .string(let text):
      switch text.lowercased() {
      case "1", "true", "yes", "y": true
      case "0", "false", "no", "n", "": false
      default: nil
      }
    case .null, .integer, .number, .array, .object: nil
    }
  }

  /// The strings of an array, without other elements; nil for other values.
  public var stringValues: [String]? { elements?.compactMap(\.stringValue) }

  /// A URL with a scheme and a host; nil for others.
  public var urlValue: URL? {
    guard let text = string, let url = URL(string: text), url.host() != nil, url.scheme != nil
    else { return nil }
    return url
  }

  /// The URLs of an array, without other elements; nil for other values.
  var urlValues: [URL]? { elements?.compactMap(\.urlValue) }

  /// A version, written as a string or as a number; nil if it is invalid.
  var versionValue: AppVersion? { stringValue.flatMap { try? AppVersion(validating: $0) } }

  /// A date in ISO 8601.
  ///
  /// Without a time zone it is in UTC; a day is its first moment.
  var dateValue: Date? {
    guard let text = string, text.utf8.count <= 40 else { return nil }
    for completion in ["", "Z", "T00:00:00Z"] {
      if let date = try? Date(text + completion, strategy: .iso8601) { return date }
    }
    return nil
  }
}

extension JSONValue {
  /// Reads the answer of a server, which has at most `limit` bytes.
  ///
  /// Throws `answerUnreadable`, with `source` as its subject.
  init(answer bytes: [UInt8], limit: Int, source: String) throws {
    guard bytes.count <= limit else {
      throw ContentError(
        .answerUnreadable, "The answer has more than \(limit) bytes, the maximum",
        remedy: "Request fewer results, or increase the limit", subject: source)
    }
    do {
      try self.init(parsing: bytes, limit: limit, rules: .tolerant)
    } catch {
      throw ContentError(
        .answerUnreadable, "The answer is not valid JSON",
        remedy: "Check that the server is a server for app versions", subject: source,
        cause: "line \(Self.line(at: error.offset, in: bytes)): \(error.reason)")
    }
  }

  /// Returns the line of the member or element at `path`, from 1; nil if it does not exist.
  static func line(of path: [JSONStep], in bytes: [UInt8]) -> Int? {
    JSONValue.offset(of: path, in: bytes).map { line(at: $0, in: bytes) }
  }

  private static func line(at offset: Int, in bytes: [UInt8]) -> Int {
    bytes[..<offset].reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
  }
}
