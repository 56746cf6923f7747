import HostedCCurl
package import HostedHTTPValues

extension HTTPDate {
  /// Returns the time of a date in one of the forms of HTTP, or nil if libcurl cannot parse it.
  ///
  /// libcurl also parses other forms.
  package static func seconds(_ text: String) -> Int64? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds)
  }
}
