import Glibc

/// Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Now, in whole seconds since 1970.
  static var now: Int64 { Int64(time(nil)) }

  /// The text of an instant in seconds since 1970.
  static func text(_ seconds: Int64) -> String {
    var clock = time_t(seconds)
    var parts = tm()
    gmtime_r(&clock, &parts)
    let day = days[Int(((seconds / 86_400) % 7 + 7) % 7)]
    let month = months[Int(max(0, min(11, parts.tm_mon)))]
    return "\(day), \(two(parts.tm_mday)) \(month) \(parts.tm_year + 1900) "
      + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
  }

  /// The instant of a text in seconds since 1970; nil when it is not of the preferred form.
  ///
  /// A condition with a date of an obsolete form is ignored, so that the answer is a whole one.
  static func seconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])),
      let day = Int32(words[1]), let year = Int32(words[3]), (1970...9999).contains(year)
    else { return nil }
    let clock = words[4].split(separator: ":").compactMap { Int32($0) }
    guard clock.count == 3, (1...31).contains(day), (0...23).contains(clock[0]),
      (0...59).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    var parts = tm()
    (parts.tm_mday, parts.tm_mon, parts.tm_year) = (day, Int32(month), year - 1900)
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (clock[0], clock[1], clock[2])
    return Int64(timegm(&parts))
  }

  private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
