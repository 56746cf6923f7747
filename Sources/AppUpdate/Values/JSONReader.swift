/// Parses JSON (RFC 8259).
///
/// A value that cannot be represented does not affect other values. An unpaired surrogate and
/// invalid UTF-8 become U+FFFD. A number outside the range of `Double` becomes null. The last of
/// several members with the same name is kept.
struct JSONReader {
  /// The reason why the bytes are not valid JSON.
  struct Failure: Error {
    let reason: String
    let line: Int
  }

  private let bytes: [UInt8]
  private var position = 0
  private var count = 0
  /// The path of the current value; only used when searching for a path.
  private var path: [String] = []
  private let searchedPath: [String]?
  private var foundPosition: Int?

  private init(_ bytes: [UInt8], searching path: [String]? = nil) {
    self.bytes = bytes
    searchedPath = path
    if bytes.starts(with: [0xef, 0xbb, 0xbf]) { position = 3 }
  }

  /// Parses a complete document.
  static func read(_ bytes: [UInt8]) throws(Failure) -> JSONField {
    var reader = JSONReader(bytes)
    return try reader.document()
  }

  /// Returns the line of the member or element at `path`, from 1; nil if it does not exist.
  static func line(of path: [String], in bytes: [UInt8]) -> Int? {
    var reader = JSONReader(bytes, searching: path)
    _ = try? reader.document()
    return reader.foundPosition.map { reader.line(at: $0) }
  }

  private func line(at position: Int) -> Int {
    bytes[..<position].reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
  }

  private func failure(_ reason: String) -> Failure {
    Failure(reason: reason, line: line(at: position))
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x0a, 0x0d, 0x09].contains(byte) { position += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func document() throws(Failure) -> JSONField {
    let value = try value(depth: 0)
    skipSpace()
    guard next == nil else { throw failure("unexpected data after the document") }
    return value
  }

  private mutating func value(depth: Int) throws(Failure) -> JSONField {
    skipSpace()
    count += 1
    guard count <= JSONField.maximumCount else {
      throw failure("more than \(JSONField.maximumCount) values")
    }
    switch next {
    case UInt8(ascii: "{"): return .object(try members(depth: depth + 1))
    case UInt8(ascii: "["): return .array(try elements(depth: depth + 1))
    case UInt8(ascii: "\""): return .string(try text())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func word(_ word: String, _ value: JSONField) throws(Failure) -> JSONField {
    guard bytes[position...].starts(with: word.utf8) else { throw failure("expected a value") }
    position += word.utf8.count
    return value
  }

  private mutating func members(depth: Int) throws(Failure) -> [String: JSONField] {
    var members: [String: JSONField] = [:]
    try open(depth)
    skipSpace()
    if take("}") { return members }
    repeat {
      skipSpace()
      let start = position
      guard next == UInt8(ascii: "\"") else { throw failure("expected a name") }
      let name = try text()
      skipSpace()
      guard take(":") else { throw failure("expected a colon") }
      enter(name, at: start)
      members[name] = try value(depth: depth)
      leave()
      skipSpace()
    } while take(",")
    guard take("}") else { throw failure("expected a comma or }") }
    return members
  }

  private mutating func elements(depth: Int) throws(Failure) -> [JSONField] {
    var elements: [JSONField] = []
    try open(depth)
    skipSpace()
    if take("]") { return elements }
    repeat {
      skipSpace()
      enter(searchedPath == nil ? "" : String(elements.count), at: position)
      elements.append(try value(depth: depth))
      leave()
      skipSpace()
    } while take(",")
    guard take("]") else { throw failure("expected a comma or ]") }
    return elements
  }

  private mutating func open(_ depth: Int) throws(Failure) {
    guard depth <= JSONField.maximumDepth else {
      throw failure("nesting deeper than \(JSONField.maximumDepth) levels")
    }
    position += 1
  }

  private mutating func enter(_ name: String, at start: Int) {
    guard let searchedPath else { return }
    path.append(name)
    if path == searchedPath { foundPosition = start }
  }

  private mutating func leave() { if searchedPath != nil { path.removeLast() } }

  // MARK: Numbers

  private mutating func number() throws(Failure) -> JSONField {
    let start = position
    _ = take("-")
    let hasLeadingZero = next == UInt8(ascii: "0")
    let digits = try skipDigits()
    guard !hasLeadingZero || digits == 1 else { throw failure("a number with a leading zero") }
    var isWhole = true
    if take(".") {
      isWhole = false
      _ = try skipDigits()
    }
    if take("e") || take("E") {
      isWhole = false
      if !take("+") { _ = take("-") }
      _ = try skipDigits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, let number = Int64(text) { return .integer(number) }
    guard let number = Double(text), number.isFinite else { return .null }
    return .double(number)
  }

  private mutating func skipDigits() throws(Failure) -> Int {
    let start = position
    while let byte = next, byte.isDigit { position += 1 }
    guard position > start else { throw failure("expected a value") }
    return position - start
  }

  // MARK: Texts

  private mutating func text() throws(Failure) -> String {
    position += 1
    var content: [UInt8] = []
    while true {
      let start = position
      while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
        position += 1
      }
      content += bytes[start..<position]
      if take("\"") { return String(decoding: content, as: UTF8.self) }
      guard take("\\") else { throw failure("an unterminated string or a control character") }
      content += String(try escapedScalar()).utf8
    }
  }

  /// Returns the scalar of an escape sequence; the backslash was already read.
  private mutating func escapedScalar() throws(Failure) -> Unicode.Scalar {
    guard let byte = next else { throw failure("an unterminated string") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try codePoint()
    default: throw failure("an unknown escape")
    }
  }

  private mutating func codePoint() throws(Failure) -> Unicode.Scalar {
    let first = try codeUnit()
    if (0xd800..<0xdc00).contains(first) {
      let end = position
      if take("\\"), take("u"), case let second = try codeUnit(),
        (0xdc00..<0xe000).contains(second),
        let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
      {
        return scalar
      }
      position = end
    }
    return Unicode.Scalar(first) ?? "\u{fffd}"
  }

  private mutating func codeUnit() throws(Failure) -> UInt32 {
    let digits = bytes[position...].prefix(4).compactMap {
      Character(Unicode.Scalar($0)).hexDigitValue
    }
    guard digits.count == 4 else { throw failure("an escape without four hexadecimal digits") }
    position += 4
    return digits.reduce(0) { $0 << 4 | UInt32($1) }
  }
}
