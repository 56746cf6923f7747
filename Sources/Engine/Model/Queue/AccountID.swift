/// An opaque identifier of a buyer's account, such as a one-way hash of a user name.
///
/// Accounts are compared byte by byte. `String` also accepts different Unicode forms of é, which
/// would give one account the purchases of another.
public struct AccountID: RawRepresentable, Hashable, Comparable, Codable, Sendable,
  CustomStringConvertible, ExpressibleByStringInterpolation
{
  /// The identifier as text.
  public let rawValue: String

  /// Creates an identifier.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Creates an identifier from a literal.
  public init(stringLiteral value: String) { self.init(rawValue: value) }

  /// The identifier as text.
  public var description: String { rawValue }

  /// Compares the bytes.
  public static func == (left: Self, right: Self) -> Bool {
    left.rawValue.hasSameBytes(as: right.rawValue)
  }

  /// Compares the bytes; the `!=` of `RawRepresentable` would compare the texts.
  public static func != (left: Self, right: Self) -> Bool { !(left == right) }

  /// Compares the bytes.
  public static func < (left: Self, right: Self) -> Bool {
    left.rawValue.precedesByBytes(right.rawValue)
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    var text = rawValue
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    // Not a byte of UTF-8, so that no name is the beginning of another one.
    hasher.combine(UInt8.max)
  }
}
