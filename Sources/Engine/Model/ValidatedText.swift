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
