/// A violation of the strict JSON syntax.
package struct JSONSyntaxError: Error, Hashable, CustomStringConvertible {
  /// The position of the error, in bytes from the start.
  package let offset: Int
  /// What was found, as the end of a sentence.
  package let reason: String

  package var description: String { "\(reason) at byte \(offset)" }
}

/// Which documents are read, and how.
package enum JSONRules: Sendable {
  /// What the canonical form, which is signed, can represent.
  ///
  /// Refuses duplicate keys (also keys that differ only in Unicode normalization), numbers with a
  /// fraction or an exponent or beyond 64 bits, invalid UTF-8 and lone surrogates.
  case canonical
  /// Like `canonical`, with every number of JSON.
  case anyNumber
  /// A value that cannot be represented does not affect others.
  ///
  /// Lone surrogates and invalid UTF-8 become U+FFFD, and numbers beyond `Double` null. The last
  /// of several members with the same key is kept. A byte order mark is skipped.
  case tolerant
}

extension JSONValue {
  package static let maximumDepth = 32
  /// The maximum memory for the values of one document, in bytes, besides the document's own
  /// length.
  static let maximumOverhead = 56 << 20

  /// Reads one JSON document (RFC 8259) of at most `limit` bytes.
  ///
  /// Besides what `rules` say, these are refused: nesting deeper than `maximumDepth`, values that
  /// need more than `maximumOverhead`, and anything after the document.
  package init(
    parsing bytes: [UInt8], limit: Int = 64 << 20, rules: JSONRules = .canonical
  ) throws(JSONSyntaxError) {
    guard bytes.count <= limit else {
      throw JSONSyntaxError(offset: limit, reason: "more than \(limit) bytes")
    }
    var parser = JSONParser(bytes: bytes, rules: rules)
    self = try parser.document()
  }

  /// Returns the offset of the member or element at `path` in a tolerantly read document; nil if it
  /// does not exist.
  package static func offset(of path: [JSONStep], in bytes: [UInt8]) -> Int? {
    var parser = JSONParser(bytes: bytes, rules: .tolerant, searchedPath: path)
    _ = try? parser.document()
    return parser.foundPosition
  }
}

private struct JSONParser {
  let bytes: [UInt8]
  let rules: JSONRules
  var searchedPath: [JSONStep]?
  var foundPosition: Int?
  /// The path of the current value; only used when searching for a path.
  private var path: [JSONStep] = []
  private var position = 0
  private var overhead = 0

  init(bytes: [UInt8], rules: JSONRules, searchedPath: [JSONStep]? = nil) {
    self.bytes = bytes
    self.rules = rules
    self.searchedPath = searchedPath
    if rules == .tolerant, bytes.starts(with: [0xef, 0xbb, 0xbf]) { position = 3 }
  }

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
    case let byte? where byte == UInt8(ascii: "-") || byte.isDigit:
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
    try open(depth)
    var members: [String: JSONValue] = [:]
    skipSpace()
    if take("}") { return .object(members) }
    try count(.object)
    repeat {
      skipSpace()
      let start = position
      guard next == UInt8(ascii: "\"") else { throw unexpected("a key") }
      try count(.member)
      let key = try string()
      skipSpace()
      guard take(":") else { throw unexpected("a colon") }
      enter(.member(key), at: start)
      let value = try value(depth: depth)
      leave()
      guard members.updateValue(value, forKey: key) == nil || rules == .tolerant else {
        throw failure("a second member “\(key)”")
      }
      skipSpace()
    } while take(",")
    guard take("}") else { throw unexpected("a comma or }") }
    return .object(members)
  }

  private mutating func array(depth: Int) throws(JSONSyntaxError) -> JSONValue {
    try open(depth)
    var elements: [JSONValue] = []
    skipSpace()
    if take("]") { return .array(elements) }
    try count(.list)
    repeat {
      try count(.element)
      skipSpace()
      enter(.element(elements.count), at: position)
      elements.append(try value(depth: depth))
      leave()
      skipSpace()
    } while take(",")
    guard take("]") else { throw unexpected("a comma or ]") }
    return .array(elements)
  }

  private mutating func enter(_ step: JSONStep, at start: Int) {
    guard let searchedPath else { return }
    path.append(step)
    if path == searchedPath { foundPosition = start }
  }

  private mutating func leave() { if searchedPath != nil { path.removeLast() } }

  private mutating func open(_ depth: Int) throws(JSONSyntaxError) {
    guard depth <= JSONValue.maximumDepth else {
      throw failure("nesting deeper than \(JSONValue.maximumDepth) levels")
    }
    position += 1
  }

  private mutating func number() throws(JSONSyntaxError) -> JSONValue {
    let start = position
    let isNegative = take("-")
    let digits = position
    skipDigits()
    let hasLeadingZero = position > digits && bytes[digits] == UInt8(ascii: "0")
    let isWhole = position > digits && (!hasLeadingZero || position == digits + 1)
    if rules != .canonical, isWhole {
      try skipFraction()
    } else if let byte = next, ".eE".utf8.contains(byte) {
      throw failure("a number that is not an integer")
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, let number = Int64(text), rules != .canonical || !hasLeadingZero || !isNegative {
      return .integer(number)
    }
    guard isWhole, rules != .canonical, let number = Double(text) else {
      throw failure("“\(text.prefix(30))”, which is not a 64-bit integer,")
    }
    if rules == .tolerant { return number.isFinite ? .number(number) : .null }
    // An infinite number must not become null: in a request, null is a missing member.
    return Int64(exactly: number).map { .integer($0) } ?? .number(number)
  }

  private mutating func skipDigits() {
    while let byte = next, byte.isDigit { position += 1 }
  }

  /// Skips the fraction and the exponent of a number, if it has them.
  private mutating func skipFraction() throws(JSONSyntaxError) {
    for isExponent in [false, true] {
      guard isExponent ? take("e") || take("E") : take(".") else { continue }
      if isExponent, !take("+") { _ = take("-") }
      guard let byte = next, byte.isDigit else { throw unexpected("a digit") }
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
      return try text(bytes, start..<end)
    }
    var content = Array(bytes[start..<position])
    while !take("\"") {
      guard let byte = next else { throw failure("the end inside a string") }
      guard byte >= 0x20 else { throw failure("a control character inside a string") }
      position += 1
      if byte == UInt8(ascii: "\\") { content += try escape() } else { content.append(byte) }
    }
    return try text(content, 0..<content.count)
  }

  private mutating func text(
    _ bytes: [UInt8], _ range: Range<Int>
  ) throws(JSONSyntaxError) -> String {
    let text = bytes.withUnsafeBufferPointer { bytes in
      let bytes = UnsafeBufferPointer(rebasing: bytes[range])
      return String(validating: bytes, as: UTF8.self)
        ?? (rules == .tolerant ? String(decoding: bytes, as: UTF8.self) : nil)
    }
    guard let text else { throw failure("a string that is not UTF-8") }
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
    case UInt8(ascii: "u"): return Array(String(Character(try unicodeEscape())).utf8)
    default: throw failure("an unknown escape")
    }
  }

  private mutating func unicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    let end = position
    if first < 0xdc00, take("\\"), take("u"), case let second = try codeUnit(),
      (0xdc00..<0xe000).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    {
      return scalar
    }
    guard rules == .tolerant else { throw failure("a lone surrogate") }
    position = end
    return "\u{fffd}"
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
