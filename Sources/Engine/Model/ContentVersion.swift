/// The version of a content package: integers separated by periods.
///
/// Compared number by number; missing numbers are zero: 1.0 = 1.0.0 < 1.0.1 < 1.9 < 1.10. The
/// original text is kept, because it names the version's folder. Source: `ContentVersion` in
/// ContentInfo.plist, `SKDownload.contentVersion`.
public struct ContentVersion: ValidatedText {
  /// The version as text, unchanged.
  public let rawValue: String
  /// The numbers without trailing zeros, for comparison.
  private let significant: [UInt64]

  /// Parses a version; throws `versionInvalid` if it is invalid.
  ///
  /// A version has 1 to 16 numbers of at most 18 digits, and at most 200 bytes.
  public init(validating text: String) throws {
    let parts = text.utf8.split(
      separator: UInt8(ascii: "."), maxSplits: 16, omittingEmptySubsequences: false)
    let numbers = parts.map(Self.number)
    guard (1...16).contains(parts.count), numbers.allSatisfy({ $0 != nil }), text.utf8.count <= 200
    else {
      throw ContentError(
        .versionInvalid, "“\(text.printable(limit: 60))” is not a content version",
        remedy: "Use integers separated by periods, such as 1.10",
        subject: text.printable(limit: 60))
    }
    rawValue = text
    var significant = numbers.compactMap { $0 }
    while significant.last == 0 { significant.removeLast() }
    self.significant = significant
  }

  private static func number(_ digits: Substring.UTF8View.SubSequence) -> UInt64? {
    guard (1...18).contains(digits.count), digits.allSatisfy(\.isDigit) else { return nil }
    return digits.reduce(0) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
  }

  /// Compares by number: 1.0 equals 1.0.0.
  public static func == (left: Self, right: Self) -> Bool { left.significant == right.significant }

  /// Hashes the numbers.
  public func hash(into hasher: inout Hasher) { hasher.combine(significant) }

  /// Orders by number, component by component.
  public static func < (left: Self, right: Self) -> Bool {
    left.significant.lexicographicallyPrecedes(right.significant)
  }
}

/// Coding of versions by content; in JSON, an object without contents is absent.
extension KeyedDecodingContainer {
  /// Decodes versions by content; returns an empty dictionary if `key` is absent.
  package func decodeVersions(forKey key: Key) throws -> [ProductIdentifier: [ContentVersion]] {
    let named = try decodeIfPresent([String: [ContentVersion]].self, forKey: key) ?? [:]
    return try named.reduce(into: [:]) {
      $0[try ProductIdentifier(validating: $1.key)] = $1.value
    }
  }
}

extension KeyedEncodingContainer {
  /// Encodes `versions` by content, unless it is empty.
  package mutating func encodeVersions(
    _ versions: [ProductIdentifier: [ContentVersion]], forKey key: Key
  ) throws {
    guard !versions.isEmpty else { return }
    // A dictionary with other keys than strings would be encoded as an array.
    let named: [String: [ContentVersion]] = versions.reduce(into: [:]) {
      $0[$1.key.rawValue] = $1.value
    }
    try encode(named, forKey: key)
  }
}
