import FoundationEssentials

extension JSONField {
  /// A date in ISO 8601.
  ///
  /// Without a time zone it is in UTC; a day is its first moment.
  var date: Date? {
    guard case .string(let text) = self, text.utf8.count <= 40 else { return nil }
    for completion in ["", "Z", "T00:00:00Z"] {
      if let date = try? Date(text + completion, strategy: .iso8601) { return date }
    }
    return nil
  }
}
