/// The identifier of a product or of a content.
///
/// It has 1 to 200 ASCII letters, digits, periods, underscores and hyphens, and starts with a
/// letter or digit. Stores and libraries use it as a folder name, so other characters are not
/// allowed, and neither is `CACHEDIR.TAG`.
public struct ProductIdentifier: ValidatedText {
  /// The identifier as text.
  public let rawValue: String

  /// Validates `text`; throws `identifierInvalid` if it breaks a rule.
  public init(validating text: String) throws {
    if let reason = Self.refusal(of: text) {
      throw ContentError(
        .identifierInvalid, "\(Self.quoted(text)) is not a product identifier: \(reason)",
        remedy:
          "Use 1 to 200 ASCII letters, digits, '.', '_' or '-', beginning with a letter or digit",
        subject: Self.quoted(text))
    }
    rawValue = text
  }

  /// Names reserved for files in a library's `products` or a store's `targets` folder.
  private static let reserved: Set<String> = ["CACHEDIR.TAG"]

  private static func refusal(of text: String) -> String? {
    guard let first = text.utf8.first else { return "it is empty" }
    guard text.utf8.count <= 200 else { return "it has \(text.utf8.count) bytes" }
    guard first.isLetterOrDigit else { return "it does not begin with a letter or digit" }
    for byte in text.utf8 where !byte.isLetterOrDigit {
      guard byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
      else { return "it contains byte 0x\(String(byte, radix: 16))" }
    }
    return reserved.contains(text) ? "the name is reserved" : nil
  }

  /// Returns the text in quotation marks, safe to print.
  private static func quoted(_ text: String) -> String { "“\(text.printable(limit: 60))”" }

  /// Compares the bytes.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A value that is a text with rules; it is encoded as this text.
public protocol ValidatedText: Hashable, Comparable, Codable, Sendable, CustomStringConvertible,
  ExpressibleByStringLiteral
{
  /// The text.
  var rawValue: String { get }

  /// Validates `text`; throws an error that names the broken rule.
  init(validating text: String) throws
}

extension ValidatedText {
  /// The text.
  public var description: String { rawValue }

  /// Decodes and validates a string.
  public init(from decoder: any Decoder) throws {
    try self.init(validating: decoder.singleValueContainer().decode(String.self))
  }

  /// Encodes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }

  /// Creates a value from a literal.
  ///
  /// An invalid literal is a programming error and stops the program. For other text, use
  /// `init(validating:)`.
  public init(stringLiteral text: String) {
    do {
      try self.init(validating: text)
    } catch {
      preconditionFailure("\(error)")
    }
  }
}
