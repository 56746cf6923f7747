extension AppVersion {
  /// Returns the numbers without trailing zeros and the suffix; nil if `text` is invalid.
  static func parse(_ text: String) -> (numbers: [UInt64], suffix: [SuffixPart])? {
    var text = text.utf8[...]
    if let first = text.first, first | 0x20 == UInt8(ascii: "v") { text.removeFirst() }
    if let plus = text.firstIndex(of: UInt8(ascii: "+")) {
      guard text[plus...].dropFirst().allSatisfy({ $0.isLetterOrDigit || isSeparator($0) })
      else { return nil }
      text = text[..<plus]
    }
    let release = text.prefix { $0.isDigit || $0 == UInt8(ascii: ".") }
    // An empty component, as in “1.” or “1..2”, is not a number.
    let components = release.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    var numbers = components.compactMap { number(ofDigits: $0) }
    guard numbers.count == components.count, numbers.count <= 16,
      let suffix = suffixParts(of: text[release.endIndex...])
    else { return nil }
    while numbers.last == 0 { numbers.removeLast() }
    return (numbers, suffix)
  }

  /// Returns nil for no digits or more than 18 significant ones.
  private static func number(ofDigits digits: Substring.UTF8View) -> UInt64? {
    let number = UInt64(String(decoding: digits, as: UTF8.self))
    return number.flatMap { $0 < 1_000_000_000_000_000_000 ? $0 : nil }
  }

  /// Returns nil if `text` is not a suffix.
  private static func suffixParts(of text: Substring.UTF8View) -> [SuffixPart]? {
    var rest = text
    var parts: [SuffixPart] = []
    while let byte = rest.first {
      if isSeparator(byte) {
        rest.removeFirst()
        guard let next = rest.first, next.isLetterOrDigit else { return nil }
      } else if byte.isDigit {
        let digits = rest.prefix(while: \.isDigit)
        guard let number = number(ofDigits: digits) else { return nil }
        parts.append(.number(number))
        rest = rest[digits.endIndex...]
      } else if byte.isLetter {
        let letters = rest.prefix(while: \.isLetter)
        parts.append(.word(String(decoding: letters, as: UTF8.self).lowercased()))
        rest = rest[letters.endIndex...]
      } else {
        return nil
      }
    }
    return parts
  }

  private static func isSeparator(_ byte: UInt8) -> Bool { "-_. ".utf8.contains(byte) }
}
