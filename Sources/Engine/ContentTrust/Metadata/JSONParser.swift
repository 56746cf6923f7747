/// A violation of the strict JSON syntax.
package struct JSONSyntaxError: Error, Hashable, CustomStringConvertible {
  /// The position of the error, in bytes from the start.
  package let offset: Int
  /// What was found, as the end of a sentence.
  package let reason: String

  /// The reason and the position.
  package var description: String { "\(reason) at byte \(offset)" }
}

extension JSONValue {
  /// The maximum depth of nested arrays and objects.
  package static let maximumDepth = 32
  /// The maximum memory for the values of one document, in bytes, besides the document's own
  /// length.
  package static let maximumOverhead = 56 << 20

  /// Reads one JSON document (RFC 8259) of at most `limit` bytes, with strict rules.
  ///
  /// The following is refused: duplicate keys (also keys that differ only in Unicode
  /// normalization), numbers with a fraction or an exponent or beyond 64 bits, invalid UTF-8, lone
  /// surrogates, nesting deeper than `maximumDepth`, values that need more than `maximumOverhead`,
  /// and anything after the document. With `allowsFractions`, every number of JSON is read.
  package init(
    parsing bytes: [UInt8], limit: Int = 64 << 20, allowsFractions: Bool = false
  ) throws(JSONSyntaxError) {
    guard bytes.count <= limit else {
      throw JSONSyntaxError(offset: limit, reason: "more than \(limit) bytes")
    }
    var parser = JSONParser(bytes: bytes, allowsFractions: allowsFractions)
    self = try parser.document()
  }
}

private struct JSONParser {
  let bytes: [UInt8]
  let allowsFractions: Bool
  var position = 0
  var overhead = 0

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func failure(_ reason: String) -> JSONSyntaxError {
    JSONSyntaxError(offset: position, reason: reason)
  }

  private func unexpected(_ wanted: String) -> JSONSyntaxError {
    failure(next == nil ? "the end instead of \(wanted)" : "something other than \(wanted)")
  }

  mutating func document() throws(JSONSyntaxError) -> JSONValue {
    let value = try value(depth: 0)
    skipSpace()
    guard next == nil else { throw failure("data after the document") }
    return value
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
      position += 1
    }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth + 1)
    case UInt8(ascii: "["): return try array(depth: depth + 1)
    case UInt8(ascii: "\""): return .string(try string())
    case let byte? where byte == UInt8(ascii: "-") || Self.isDigit(byte):
      return try number()
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: throw unexpected("a value")
    }
  }

  /// Measured memory per value, in bytes, besides the document's own bytes.
  private enum Cost: Int {
    case list = 32
    case element = 36
    case object = 40
    case member = 100
    case longText = 48
  }

  private mutating func count(_ kept: Cost) throws(JSONSyntaxError) {
    overhead += kept.rawValue
    guard overhead <= JSONValue.maximumOverhead else { throw failure("too many values") }
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(JSONSyntaxError)
    -> JSONValue
  {
    guard bytes[position...].starts(with: word.utf8) else { throw failure("an unknown word") }
    position += word.utf8.count
    return value
  }

  private mutating func object(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    try enter(depth)
    var members: [String: JSONValue] = [:]
    skipSpace()
    if take("}") { return .object(members) }
    try count(.object)
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw unexpected("a key") }
      try count(.member)
      let key = try string()
      skipSpace()
      guard take(":") else { throw unexpected("a colon") }
      let value = try value(depth: depth)
      guard members.updateValue(value, forKey: key) == nil else {
        throw failure("a second member “\(key)”")
      }
      skipSpace()
    } while take(",")
    guard take("}") else { throw unexpected("a comma or }") }
    return .object(members)
  }

  private mutating func array(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    try enter(depth)
    var elements: [JSONValue] = []
    skipSpace()
    if take("]") { return .array(elements) }
    try count(.list)
    repeat {
      try count(.element)
      elements.append(try value(depth: depth))
      skipSpace()
    } while take(",")
    guard take("]") else { throw unexpected("a comma or ]") }
    return .array(elements)
  }

  private mutating func enter(_ depth: Int) throws(JSONSyntaxError) {
    guard depth <= JSONValue.maximumDepth else {
      throw failure("nesting deeper than \(JSONValue.maximumDepth) levels")
    }
    position += 1
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private mutating func number() throws(JSONSyntaxError) -> JSONValue {
    let start = position
    let isNegative = take("-")
    let digits = position
    skipDigits()
    let hasLeadingZero = position > digits && bytes[digits] == UInt8(ascii: "0")
    let isWhole = position > digits && (!hasLeadingZero || position == digits + 1)
    if allowsFractions, isWhole {
      try skipFraction()
    } else if let byte = next, ".eE".utf8.contains(byte) {
      throw failure("a number that is not an integer")
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, allowsFractions || !hasLeadingZero || !isNegative {
      if let number = Int64(text) { return .integer(number) }
      if allowsFractions, let number = Double(text) {
        return Int64(exactly: number).map { .integer($0) } ?? .number(number)
      }
    }
    throw failure("“\(text.prefix(30))”, which is not a 64-bit integer,")
  }

  private mutating func skipDigits() {
    while let byte = next, Self.isDigit(byte) { position += 1 }
  }

  /// Skips the fraction and the exponent of a number, if it has them.
  private mutating func skipFraction() throws(JSONSyntaxError) {
    for isExponent in [false, true] {
      guard isExponent ? take("e") || take("E") : take(".") else { continue }
      if isExponent, !take("+") { _ = take("-") }
      guard let byte = next, Self.isDigit(byte) else { throw unexpected("a digit") }
      skipDigits()
    }
  }

  private mutating func string() throws(JSONSyntaxError) -> String {
    position += 1
    let start = position
    while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
      position += 1
    }
    if next == UInt8(ascii: "\"") {
      // Fast path: most strings have no escapes and can be copied without decoding.
      let end = position
      position += 1
      return try text {
        String(validating: UnsafeBufferPointer(rebasing: $0[start..<end]), as: UTF8.self)
      }
    }
    var content = Array(bytes[start..<position])
    while !take("\"") {
      guard let byte = next else { throw failure("the end inside a string") }
      guard byte >= 0x20 else { throw failure("a control character inside a string") }
      position += 1
      if byte == UInt8(ascii: "\\") { content += try escape() } else { content.append(byte) }
    }
    return try text { _ in String(validating: content, as: UTF8.self) }
  }

  private mutating func text(
    _ decode: (UnsafeBufferPointer<UInt8>) -> String?
  ) throws(JSONSyntaxError) -> String {
    guard let text = bytes.withUnsafeBufferPointer(decode) else {
      throw failure("a string that is not UTF-8")
    }
    // Swift stores up to 15 bytes without an allocation.
    if text.utf8.count > 15 { try count(.longText) }
    return text
  }

  /// Returns the UTF-8 bytes of an escape sequence; the backslash was already read.
  private mutating func escape() throws(JSONSyntaxError) -> [UInt8] {
    guard let byte = next else { throw failure("the end inside a string") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0c]
    case UInt8(ascii: "n"): return [0x0a]
    case UInt8(ascii: "r"): return [0x0d]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"):
      guard let scalar = try unicodeEscape() else { throw failure("a lone surrogate") }
      return Array(String(Character(scalar)).utf8)
    default: throw failure("an unknown escape")
    }
  }

  private mutating func unicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar? {
    let first = try codeUnit()
    guard (0xd800..<0xdc00).contains(first) else { return Unicode.Scalar(first) }
    guard take("\\"), take("u") else { return nil }
    let second = try codeUnit()
    guard (0xdc00..<0xe000).contains(second) else { return nil }
    return Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
  }

  private mutating func codeUnit() throws(JSONSyntaxError) -> UInt32 {
    guard position + 4 <= bytes.count else { throw failure("the end inside a string") }
    var unit: UInt32 = 0
    for byte in bytes[position..<position + 4] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw failure("an escape without four hexadecimal digits")
      }
      unit = unit << 4 | UInt32(digit)
    }
    position += 4
    return unit
  }
}
