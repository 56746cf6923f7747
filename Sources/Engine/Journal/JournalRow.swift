import HostedModel
import HostedDatabase

extension SQLiteConnection {
  /// Returns the values of `body` for all rows, in order.
  func all<Output>(
    _ sql: String, _ values: [Value] = [], _ body: (Row) throws -> Output
  ) throws -> [Output] {
    var found: [Output] = []
    try query(sql, values) { found.append(try body($0)) }
    return found
  }

  /// Returns the value of `body` for the first row; nil without rows.
  func first<Output>(
    _ sql: String, _ values: [Value] = [], _ body: (Row) throws -> Output
  ) throws -> Output? {
    try all(sql, values, body).first
  }

  /// Returns whether a query has rows.
  func hasRows(_ sql: String, _ values: [Value]) throws -> Bool {
    try first(sql, values) { _ in } != nil
  }
}

extension SQLiteConnection.Value {
  /// A text, or null for nil.
  static func optional(_ text: String?) -> Self { text.map { .text($0) } ?? .null }
}

extension [SQLiteConnection.Value] {
  /// The values of the columns content and version.
  static func key(_ content: ProductIdentifier, _ version: ContentVersion) -> Self {
    [.text(content.rawValue), .text(version.rawValue)]
  }
}

extension SQLiteConnection.Row {
  /// The text as an identifier; throws `journalFailed` if it is invalid.
  func identifier(_ column: Int32) throws -> ProductIdentifier {
    try readable(column) { try ProductIdentifier(validating: $0) }
  }

  /// The text as a version; throws `journalFailed` if it is invalid.
  func version(_ column: Int32) throws -> ContentVersion {
    try readable(column) { try ContentVersion(validating: $0) }
  }

  private func readable<Value>(_ column: Int32, _ body: (String) throws -> Value) throws -> Value {
    let text = text(column)
    do {
      return try body(text)
    } catch let error as ContentError {
      throw ContentError.unreadableRecord(of: "“\(text)”", error.message)
    }
  }
}
