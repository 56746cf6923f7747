import FoundationEssentials

/// Reads the dates of HTTP (RFC 9110 §5.6.7); the formatter of Foundation is not at hand.
enum HTTPDate {
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// The date of `Sun, 06 Nov 1994 08:49:37 GMT` or of the two obsolete forms; nil for others.
  static func date(_ text: String) -> Date? {
    let words = text.lowercased().split { " ,-".contains($0) }.map(String.init)
    switch words.count {
    // Sunday, 06-Nov-94 08:49:37 GMT, and the preferred form.
    case 6 where words[5] == "gmt" || words[5] == "utc":
      return date(year: words[3], month: words[2], day: words[1], time: words[4])
    // Sun Nov  6 08:49:37 1994
    case 5: return date(year: words[4], month: words[1], day: words[2], time: words[3])
    default: return nil
    }
  }

  private static func date(year: String, month: String, day: String, time: String) -> Date? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false)
    guard var year = Int64(digits: year), year < 10_000, let day = Int64(digits: day),
      let month = months.firstIndex(of: month), (1...31).contains(day), clock.count == 3,
      let hour = Int64(digits: clock[0]), let minute = Int64(digits: clock[1]),
      let second = Int64(digits: clock[2]), hour < 24, minute < 60, second <= 60
    else { return nil }
    // Two digits: the century that is not more than 50 years ahead, as the RFC has it.
    if year < 100 { year += year < 70 ? 2000 : 1900 }
    let days = daysSince1970(year, Int64(month) + 1, day)
    return Date(timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
  }

  /// Days of the proleptic Gregorian calendar, by counting years from March.
  private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
