/// The name of a product, and of the content that belongs to it.
///
/// 1 to 200 ASCII letters, digits, periods, underscores and hyphens; the first is a letter or a
/// digit. It is used as a folder's name in stores and libraries, so nothing else is let in.
public struct ProductIdentifier: Hashable, Sendable, CustomStringConvertible {
  /// The identifier as text.
  public let rawValue: String

  /// The identifier as text.
  public var description: String { rawValue }

  /// Checks `text`; throws `ContentError.Code.identifierInvalid` when it breaks a rule.
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

  /// Names that a library's `products` folder or a store's `targets` folder uses itself.
  private static let reserved: Set<String> = ["CACHEDIR.TAG"]

  private static func refusal(of text: String) -> String? {
    guard let first = text.utf8.first else { return "it is empty" }
    guard text.utf8.count <= 200 else { return "it has \(text.utf8.count) bytes" }
    guard isAlphanumeric(first) else { return "it does not begin with a letter or digit" }
    for byte in text.utf8 where !isAlphanumeric(byte) {
      guard byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
      else { return "it contains byte 0x\(String(byte, radix: 16))" }
    }
    return reserved.contains(text) ? "the name is reserved" : nil
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  /// The text as it may be shown.
  private static func quoted(_ text: String) -> String { "“\(text.printable(limit: 60))”" }
}

extension ProductIdentifier: Codable, Comparable {
  /// Reads a string and checks it.
  public init(from decoder: any Decoder) throws {
    try self.init(validating: decoder.singleValueContainer().decode(String.self))
  }

  /// Writes the identifier as a string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }

  /// Orders by bytes.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension ProductIdentifier: ExpressibleByStringLiteral {
  /// Creates an identifier from a literal in code.
  ///
  /// A literal that is not valid is a programming error and stops the program: use
  /// `init(validating:)` for text from outside.
  public init(stringLiteral text: String) {
    do {
      try self.init(validating: text)
    } catch {
      preconditionFailure("\(error)")
    }
  }
}
