/// The user-visible version of an app, such as 1.10.2 or 2.0-beta.1.
///
/// Not its build number. Versions are compared number by number, and missing numbers are zero: 1.0
/// = 1.0.0 < 1.0.1 < 1.9 < 1.10. A version with a suffix is earlier than the same version without
/// one: 2.0-alpha < 2.0-beta.2 < 2.0-beta.10 < 2.0. Text after a plus sign is kept, but not
/// compared. Source: `CFBundleShortVersionString`; suffixes are ordered as in Semantic Versioning
/// 2.0.0.
public struct AppVersion: ValidatedText {
  /// The version as it was written, without surrounding spaces.
  public let rawValue: String
  /// The numbers without trailing zeros; they are compared first.
  private let numbers: [UInt64]
  /// The suffix, compared if the numbers are equal; empty for a release.
  private let suffix: [SuffixPart]

  /// Whether it has a suffix such as `-beta`, which makes it earlier than the release.
  public var isPrerelease: Bool { !suffix.isEmpty }

  /// Reads 1 to 16 numbers of at most 18 digits and a suffix, 200 bytes in total.
  ///
  /// Throws `versionInvalid` for anything else. Surrounding spaces, a leading `v`, and leading
  /// zeros of a number are ignored. A suffix has ASCII letters and digits, separated by `-`, `_`,
  /// `.`, a space or nothing: 1.2-beta, 1.2 beta 3, 1.2b3.
  public init(validating text: String) throws {
    let isSpace: (Character) -> Bool = { $0.isASCII && $0.isWhitespace }
    let start = text.drop(while: isSpace)
    rawValue = start.lastIndex { !isSpace($0) }.map { String(start[...$0]) } ?? ""
    guard text.utf8.count <= 200, let parsed = Self.parse(rawValue) else {
      throw ContentError(
        .versionInvalid, "“\(text.printable(limit: 60))” is not an app version",
        remedy: "Use numbers separated by periods, such as 1.10, without the build number",
        subject: text.printable(limit: 60))
    }
    (numbers, suffix) = parsed
  }

  /// The first component in which two versions differ: the level of the update.
  public enum Level: String, Codable, Sendable, CaseIterable, PrintedAsRawValue {
    /// The first number.
    case major
    /// The second number.
    case minor
    /// The third number.
    case patch
    /// A number after the third.
    case revision
    /// Only the suffix, for example 2.0-beta and 2.0.
    case suffix
  }

  /// Returns the first difference between this version and `other`; nil if they are equal.
  public func difference(from other: AppVersion) -> Level? {
    let count = max(numbers.count, other.numbers.count)
    let levels: [Level] = [.major, .minor, .patch]
    for index in 0..<count where number(index) != other.number(index) {
      return index < levels.count ? levels[index] : .revision
    }
    return suffix == other.suffix ? nil : .suffix
  }

  private func number(_ index: Int) -> UInt64 { index < numbers.count ? numbers[index] : 0 }

  /// Compares numbers and suffix: 1.0 equals 1.0.0.
  public static func == (left: Self, right: Self) -> Bool {
    left.numbers == right.numbers && left.suffix == right.suffix
  }

  /// Hashes the values that determine equality.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(numbers)
    hasher.combine(suffix)
  }

  /// Compares the numbers one by one, then the suffix.
  public static func < (left: Self, right: Self) -> Bool {
    guard left.numbers == right.numbers else {
      return left.numbers.lexicographicallyPrecedes(right.numbers)
    }
    guard left.isPrerelease, right.isPrerelease else {
      return left.isPrerelease && !right.isPrerelease
    }
    return left.suffix.lexicographicallyPrecedes(right.suffix)
  }

  /// Returns the numbers without trailing zeros and the suffix; nil if `text` is invalid.
  fileprivate static func parse(_ text: String) -> (numbers: [UInt64], suffix: [SuffixPart])? {
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

/// A number or a word of a suffix; numbers come before words.
private enum SuffixPart: Hashable, Comparable {
  case number(UInt64)
  /// ASCII in lower case.
  case word(String)
}
