import CMicroHTTPD

/// The words behind status numbers.
enum HTTPStatus {
  /// The reason phrase of `status`, or a plain word for numbers that have none.
  static func reason(_ status: Int) -> String {
    MHD_get_reason_phrase_for(UInt32(clamping: status)).map { String(cString: $0) } ?? "Status"
  }
}
