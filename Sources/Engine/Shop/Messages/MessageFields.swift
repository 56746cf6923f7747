package import HostedModel
package import FoundationEssentials

/// Dates in messages: RFC 3339 in UTC with milliseconds.
package enum MessageDate {
  private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  private static let wholeSeconds = Date.ISO8601FormatStyle()

  package static func text(_ date: Date) -> String {
    // The style cuts off digits, and a date is often slightly before its whole millisecond.
    date.addingTimeInterval(0.000_1).formatted(style)
  }

  /// Parses a date with or without fractional seconds; nil if it is malformed.
  package static func date(_ text: String) -> Date? {
    (try? style.parse(text)) ?? (try? wholeSeconds.parse(text))
  }
}

/// Reads the members of a JSON object that another machine sent; null is like a missing member.
package struct MessageFields: Sendable {
  package let json: JSONValue
  private let reader: JSONReader<Errors>

  private struct Errors: JSONErrors {
    let name: String

    func error(_ problem: JSONProblem, at steps: [JSONStep]) -> any Error {
      ContentError.malformedAnswer("\(steps.text) of \(name) is invalid")
    }
  }

  /// `name` is used in errors, such as “a purchase”.
  package init(_ json: JSONValue, of name: String) {
    self.json = json
    reader = JSONReader(json, errors: Errors(name: name), treatsNullAsMissing: true)
  }

  package func optionalText(_ key: String, limit: Int) throws -> String? {
    try member(key)?.string(atMost: limit)
  }

  package func text(_ key: String, limit: Int) throws -> String {
    let text = try optionalText(key, limit: limit) ?? ""
    guard !text.isEmpty else { throw invalid(key) }
    return text
  }

  package func optionalDate(_ key: String) throws -> Date? {
    guard let text = try optionalText(key, limit: 64) else { return nil }
    guard let date = MessageDate.date(text) else { throw invalid(key) }
    return date
  }

  package func date(_ key: String) throws -> Date {
    guard let date = try optionalDate(key) else { throw invalid(key) }
    return date
  }

  package func identifier(_ key: String) throws -> ProductIdentifier {
    let text = try text(key, limit: 256)
    guard let identifier = try? ProductIdentifier(validating: text) else { throw invalid(key) }
    return identifier
  }

  package func list(_ key: String, limit: Int) throws -> [JSONValue] {
    guard let member = try member(key) else { throw invalid(key) }
    return try member.elements(atMost: limit).map(\.value)
  }

  /// The member `key`; nil if it is missing or the message is not an object.
  private func member(_ key: String) throws -> JSONReader<Errors>? {
    json.members == nil ? nil : try reader.optional(key)
  }

  package func invalid(_ key: String) -> any Error { reader.error(.missing, at: key) }
}

extension ContentError {
  /// The store server's answer cannot be used; `reason` is a clause.
  package static func malformedAnswer(_ reason: String) -> ContentError {
    ContentError(
      .answerUnusable,
      "The store server's response is malformed: \(reason.printable(limit: 200))",
      remedy: "Check the address of the store server, and that it has a compatible version")
  }
}
