import CMicroHTTPD

/// The words behind status numbers.
enum HTTPStatus {
  /// The reason phrase of `status`, or a plain word for numbers that have none.
  static func reason(_ status: Int) -> String {
    String(cString: hc_http_reason(UInt32(clamping: status)))
  }
}
