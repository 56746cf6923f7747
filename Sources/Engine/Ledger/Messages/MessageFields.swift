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

/// Reads the members of a JSON object that another machine sent.
package struct MessageFields: Sendable {
  package let json: JSONValue
  private let name: String

  /// `name` is used in errors, such as “a purchase”.
  package init(_ json: JSONValue, of name: String) {
    self.json = json
    self.name = name
  }

  package func optionalText(_ key: String, limit: Int) throws -> String? {
    switch json[key] {
    case nil, .null?: return nil
    case .string(let text)? where text.utf8.count <= limit: return text
    default: throw invalid(key)
    }
  }

  package func text(_ key: String, limit: Int) throws -> String {
    guard let text = try optionalText(key, limit: limit), !text.isEmpty else { throw invalid(key) }
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
    guard case .array(let elements)? = json[key], elements.count <= limit else {
      throw invalid(key)
    }
    return elements
  }

  package func invalid(_ key: String) -> ContentError {
    .malformedAnswer("\(key) of \(name) is invalid")
  }
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
