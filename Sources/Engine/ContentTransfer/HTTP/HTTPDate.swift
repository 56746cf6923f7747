import CCurl
import Glibc

/// Dates of HTTP, in whole seconds since 1970: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
package enum HTTPDate {
  // The names of days and months are English, whatever locale the program has set.
  private nonisolated(unsafe) static let locale = newlocale(1 << LC_TIME, "C", nil)

  /// Now.
  package static var now: Int64 { Int64(time(nil)) }

  /// The text of an instant.
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

  /// The instant of a text in one of the forms of HTTP; nil for what libcurl does not take for a
  /// date.
  ///
  /// libcurl also reads other forms.
  package static func seconds(_ text: String) -> Int64? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds)
  }

  /// The instant of a text that is exactly what `text` writes; nil for any other.
  package static func exactSeconds(_ text: String) -> Int64? {
    seconds(text).flatMap { self.text($0) == text ? $0 : nil }
  }
}
