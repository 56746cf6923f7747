import HostedCCurl
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

  /// Returns the time of a date in one of the forms of HTTP, or nil if libcurl cannot parse it.
  ///
  /// libcurl also parses other forms.
  package static func seconds(_ text: String) -> Int64? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds)
  }

  /// Returns the time of a date in exactly the form that `text` writes, or nil for any other.
  package static func exactSeconds(_ text: String) -> Int64? {
    seconds(text).flatMap { self.text($0) == text ? $0 : nil }
  }
}
