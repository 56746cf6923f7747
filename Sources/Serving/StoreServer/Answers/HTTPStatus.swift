import CMicroHTTPD

/// Reason phrases of HTTP status codes.
enum HTTPStatus {
  /// The reason phrase of `status`, or a generic word for unknown codes.
  static func reason(_ status: Int) -> String {
    String(cString: hc_http_reason(UInt32(clamping: status)))
  }
}
