import ContentModel
import Database

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
