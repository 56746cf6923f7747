import CCurl
import FoundationEssentials

/// Reads the dates of HTTP; the formatter of Foundation is not at hand.
enum HTTPDate {
  /// The date of `Sun, 06 Nov 1994 08:49:37 GMT` or of the obsolete forms (RFC 9110 §5.6.7); nil for
  /// what libcurl takes for no date.
  static func date(_ text: String) -> Date? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : Date(timeIntervalSince1970: Double(seconds))
  }
}
