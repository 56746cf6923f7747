/// Parses the text of an `AppVersion` from left to right.
struct AppVersionReader {
  /// The text without surrounding spaces.
  let text: String
  private var rest: Substring.UTF8View.SubSequence

  init(_ text: String) {
    let isSpace: (Character) -> Bool = { $0.isASCII && $0.isWhitespace }
    let start = text.drop(while: isSpace)
    let end = start.lastIndex { !isSpace($0) }.map { start[...$0] } ?? start[..<start.startIndex]
    self.text = String(end)
    rest = end.utf8[...]
  }

  /// Returns the version; nil if the text is invalid.
  mutating func read() -> (numbers: [UInt64], suffix: [SuffixPart])? {
    if let first = rest.first, first | 0x20 == UInt8(ascii: "v") { rest.removeFirst() }
    guard var numbers = readNumbers() else { return nil }
    while numbers.last == 0 { numbers.removeLast() }
    if let plus = rest.firstIndex(of: UInt8(ascii: "+")) {
      guard rest[plus...].dropFirst().allSatisfy({ $0.isLetterOrDigit || Self.isSeparator($0) })
      else { return nil }
      rest = rest[..<plus]
    }
    guard let suffix = readSuffix() else { return nil }
    return (numbers, suffix)
  }

  private mutating func readNumbers() -> [UInt64]? {
    guard let first = readNumber() else { return nil }
    var numbers = [first]
    while rest.first == UInt8(ascii: "."), let digit = rest.dropFirst().first, digit.isDigit {
      rest.removeFirst()
      guard numbers.count < 16, let number = readNumber() else { return nil }
      numbers.append(number)
    }
    return numbers
  }

  /// The leading digits as a number; nil for no digits or more than 18 significant ones.
  private mutating func readNumber() -> UInt64? {
    let digits = rest.prefix(while: \.isDigit)
    rest = rest[digits.endIndex...]
    let significant = digits.drop { $0 == UInt8(ascii: "0") }
    guard !digits.isEmpty, significant.count <= 18 else { return nil }
    return significant.reduce(0) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
  }

  /// The parts of the rest; nil if the rest is not a valid suffix.
  private mutating func readSuffix() -> [SuffixPart]? {
    var parts: [SuffixPart] = []
    // A period after the numbers must be followed by another number.
    if rest.first == UInt8(ascii: ".") { return nil }
    while let byte = rest.first {
      if Self.isSeparator(byte) {
        rest.removeFirst()
        guard let next = rest.first, next.isLetterOrDigit else { return nil }
      } else if byte.isDigit {
        guard let number = readNumber() else { return nil }
        parts.append(.number(number))
      } else if byte.isLetter {
        let letters = rest.prefix(while: \.isLetter)
        rest = rest[letters.endIndex...]
        parts.append(.word(String(decoding: letters, as: UTF8.self).lowercased()))
      } else {
        return nil
      }
    }
    return parts
  }

  private static func isSeparator(_ byte: UInt8) -> Bool {
    [UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: " ")].contains(byte)
  }
}
