import ContentModel

/// The version of an app as people read it, such as 1.10.2 or 2.0-beta.1; never its build number.
///
/// Compared number by number, missing ones are zero: 1.0 = 1.0.0 < 1.0.1 < 1.9 < 1.10. A suffix
/// makes it earlier than the same numbers without one: 2.0-alpha < 2.0-beta.2 < 2.0-beta.10 < 2.0.
/// What follows a plus sign is kept and compares as nothing. Source: `CFBundleShortVersionString`;
/// the order of suffixes is that of Semantic Versioning 2.0.0.
public struct AppVersion: Sendable, CustomStringConvertible {
  /// The version as it was written, without spaces around it.
  public let rawValue: String
  /// The numbers without trailing zeros, which decide first.
  private let numbers: [UInt64]
  /// What decides among equal numbers; empty for a release.
  private let suffix: [SuffixPart]

  /// The version as it was written, without spaces around it.
  public var description: String { rawValue }

  /// Whether it carries a suffix such as `-beta`, so that it comes before the release of its
  /// numbers.
  public var isPrerelease: Bool { !suffix.isEmpty }

  /// Reads 1 to 16 numbers of at most 18 digits and a suffix, 200 bytes in all; else throws
  /// `versionInvalid`.
  ///
  /// Spaces around it, a `v` before it and zeros before a number are passed over. A suffix is ASCII
  /// letters and digits, set apart by `-`, `_`, `.`, a space or nothing: 1.2-beta, 1.2 beta 3,
  /// 1.2b3.
  public init(_ text: String) throws {
    var reader = AppVersionReader(text)
    guard text.utf8.count <= 200, let parsed = reader.read() else {
      throw ContentError(
        .versionInvalid, "“\(text.printable(limit: 60))” is not an app's version",
        remedy: "Use numbers separated by periods, such as 1.10; a build number stands elsewhere",
        subject: text.printable(limit: 60))
    }
    rawValue = parsed.text
    numbers = parsed.numbers
    suffix = parsed.suffix
  }

  /// Where two versions first differ: what kind of update the later one is.
  public enum Level: String, Codable, Sendable, CaseIterable {
    /// The first number.
    case major
    /// The second number.
    case minor
    /// The third number.
    case patch
    /// A number after the third.
    case revision
    /// Only the suffix, as between 2.0-beta and 2.0.
    case suffix
  }

  /// Where this version and `other` first differ; nil when they are equal.
  public func difference(from other: AppVersion) -> Level? {
    let count = max(numbers.count, other.numbers.count)
    let levels: [Level] = [.major, .minor, .patch]
    for index in 0..<count where number(index) != other.number(index) {
      return index < levels.count ? levels[index] : .revision
    }
    return suffix == other.suffix ? nil : .suffix
  }

  private func number(_ index: Int) -> UInt64 { index < numbers.count ? numbers[index] : 0 }
}

extension AppVersion: Hashable, Comparable {
  /// Equal by number and suffix: 1.0 equals 1.0.0.
  public static func == (left: Self, right: Self) -> Bool {
    left.numbers == right.numbers && left.suffix == right.suffix
  }

  /// Hashes what decides equality.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(numbers)
    hasher.combine(suffix)
  }

  /// Orders by number, component by component, then by suffix.
  public static func < (left: Self, right: Self) -> Bool {
    guard left.numbers == right.numbers else {
      return left.numbers.lexicographicallyPrecedes(right.numbers)
    }
    guard left.isPrerelease, right.isPrerelease else {
      return left.isPrerelease && !right.isPrerelease
    }
    return left.suffix.lexicographicallyPrecedes(right.suffix)
  }
}

extension AppVersion: Codable {
  /// Reads a string and checks it.
  public init(from decoder: any Decoder) throws {
    try self.init(decoder.singleValueContainer().decode(String.self))
  }

  /// Writes the version as it was written.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

/// A number or a word of a suffix; numbers come before words.
enum SuffixPart: Hashable, Comparable {
  case number(UInt64)
  /// ASCII, in lower case.
  case word(String)
}
