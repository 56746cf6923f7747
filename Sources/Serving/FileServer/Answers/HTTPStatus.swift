import HostedCMicroHTTPD
import HostedTransfer

/// Status lines of responses.
package enum HTTPStatus {
  /// The reason phrase of `status`, or a generic word for unknown codes.
  package static func reason(_ status: Int) -> String {
    String(cString: hc_http_reason(UInt32(clamping: status)))
  }

  /// The lines of the head of a connection's last response, for a response that is sent without
  /// libmicrohttpd.
  package static func lastHead(_ status: Int, _ fields: [(name: String, value: String)]) -> String {
    let all = fields + [("Date", HTTPDate.text(HTTPDate.now)), ("Connection", "close")]
    return "HTTP/1.1 \(status) \(reason(status))\r\n"
      + all.map { "\($0.name): \($0.value)\r\n" }.joined()
  }
}
