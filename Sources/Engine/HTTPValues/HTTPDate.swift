import Glibc

/// HTTP dates such as `Sun, 06 Nov 1994 08:49:37 GMT`, as seconds since 1970 (RFC 9110 §5.6.7).
package enum HTTPDate {
  // The names of days and months are English, in any locale of the program.
  private nonisolated(unsafe) static let locale = newlocale(1 << LC_TIME, "C", nil)

  /// The current time.
  package static var now: Int64 { Int64(time(nil)) }

  /// Returns the HTTP date of a time.
  package static func text(_ seconds: Int64) -> String {
    var seconds = time_t(seconds)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      guard let start = buffer.baseAddress, let locale else { return "" }
      let count = strftime_l(start, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts, locale)
      return String(decoding: UnsafeRawBufferPointer(buffer)[..<count], as: UTF8.self)
    }
  }

  /// Returns the time of a date in exactly the form that `text` writes, or nil for any other.
  package static func exactSeconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard text.utf8.count == 29, words.count == 6,
      let month = months.firstIndex(of: String(words[2]))
    else { return nil }
    let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
    guard let day = Int32(words[1]), let year = Int32(words[3]), clock.count == 3,
      let hour = Int32(clock[0]), let minute = Int32(clock[1]), let second = Int32(clock[2])
    else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, Int32(month), day)
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second)
    let seconds = Int64(timegm(&parts))
    // The comparison also finds a wrong day of the week and numbers that timegm(3) carries over.
    return seconds >= 0 && self.text(seconds) == text ? seconds : nil
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
