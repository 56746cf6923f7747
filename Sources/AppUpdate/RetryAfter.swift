import FoundationEssentials

/// Reads a Retry-After header. Source: RFC 9110, sections 5.6.7 and 10.2.3.
enum RetryAfter {
  /// Seconds to wait, 0 to a day: written as seconds, or as a date in GMT; nil for others.
  static func seconds(_ text: String, now: Date) -> Double? {
    let text = text.trimmed
    let wanted = Double(Int(text) ?? -1)
    let seconds = wanted >= 0 ? wanted : date(text).map { $0.timeIntervalSince(now) }
    return seconds.map { min(max(0, $0), 86_400) }
  }

  /// A date such as `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that may be sent.
  private static func date(_ text: String) -> Date? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", words[1].count == 2, words[3].count == 4,
      let month = months.firstIndex(of: words[2])
    else { return nil }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    return try? Date("\(words[3])-\(number)-\(words[1])T\(words[4])Z", strategy: .iso8601)
  }

  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

extension String {
  fileprivate var trimmed: String {
    split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
  }
}
