/// A value that is written as text with rules, such as an identifier or a version.
public protocol ValidatedText: Hashable, Sendable, Codable, CustomStringConvertible,
  ExpressibleByStringLiteral
{
  /// The value as text.
  var rawValue: String { get }

  /// Validates `text`; throws an error that names the rule if it breaks one.
  init(validating text: String) throws
}

extension ValidatedText {
  /// The value as text.
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
