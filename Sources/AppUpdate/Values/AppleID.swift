/// The number of an app or another item in Apple's stores, such as 364709193.
public struct AppleID: RawRepresentable, Hashable, Sendable, CustomStringConvertible,
  ExpressibleByIntegerLiteral
{
  /// The number, at least 1.
  public let rawValue: Int64

  /// The digits of the number.
  public var description: String { String(rawValue) }

  /// Creates an ID from a number of at least 1; nil for others.
  public init?(rawValue: Int64) {
    guard rawValue > 0 else { return nil }
    self.rawValue = rawValue
  }

  /// Reads digits, `id` with digits, or a product link.
  ///
  /// Throws `appIdentifierInvalid` for other text, and for more than 2,000 bytes. Examples of
  /// links: https://apps.apple.com/de/app/name/id364709193?mt=8 and the older
  /// …/viewSoftware?id=364709193.
  public init(validating text: String) throws {
    guard text.utf8.count <= 2000, let identifier = Self.find(in: text) else {
      throw Self.invalid(text.printable(limit: 60))
    }
    self = identifier
  }

  private static func find(in text: String) -> AppleID? {
    if let identifier = number(text[...]) ?? numberWithMark(text[...]) { return identifier }
    guard text.contains("/") else { return nil }
    let address = text.prefix { $0 != "#" }
    let path = address.prefix { $0 != "?" }
    for component in path.split(separator: "/").reversed() {
      if let identifier = numberWithMark(component) { return identifier }
    }
    let query = address.dropFirst(path.count + 1)
    for item in query.split(separator: "&") where item.hasPrefix("id=") {
      return number(item.dropFirst(3))
    }
    return nil
  }

  private static func numberWithMark(_ text: Substring) -> AppleID? {
    text.hasPrefix("id") ? number(text.dropFirst(2)) : nil
  }

  private static func number(_ text: Substring) -> AppleID? {
    guard text.utf8.allSatisfy(\.isDigit) else { return nil }
    return Int64(text).flatMap(AppleID.init(rawValue:))
  }

  private static func invalid(_ text: String) -> ContentError {
    ContentError(
      .appIdentifierInvalid, "“\(text)” is not an Apple ID of an app or a link with one",
      remedy: "Use the number after “id” in the app's store link", subject: text)
  }

  /// Creates an ID from a literal of at least 1.
  ///
  /// An invalid literal is a programming error and stops the program. For other numbers, use
  /// `init(rawValue:)`; for text, `init(validating:)`.
  public init(integerLiteral number: Int64) {
    guard number > 0 else { preconditionFailure("\(Self.invalid("\(number)"))") }
    rawValue = number
  }
}
