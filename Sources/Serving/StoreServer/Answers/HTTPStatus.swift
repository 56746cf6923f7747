import CMicroHTTPD

/// Reason phrases of HTTP status codes.
package enum HTTPStatus {
  /// The reason phrase of `status`, or a generic word for unknown codes.
  package static func reason(_ status: Int) -> String {
    String(cString: hc_http_reason(UInt32(clamping: status)))
  }
}
