/// An HTTP response.
///
/// A body can be bytes, a part of a file, or a stream, so its type is that of the sender or the
/// receiver.
package struct HTTPResponse<Body: Sendable>: Sendable {
  package var head: HTTPHead
  package var body: Body

  package init(_ head: HTTPHead, body: Body) {
    self.head = head
    self.body = body
  }

  package init(_ status: Int, headers: HTTPHeaders = [:], body: Body) {
    self.init(HTTPHead(status: status, headers: headers), body: body)
  }

  package var status: Int {
    get { head.status }
    set { head.status = newValue }
  }

  /// The header fields.
  ///
  /// The sender adds Date, Content-Length and Connection.
  package var headers: HTTPHeaders {
    get { head.headers }
    set { head.headers = newValue }
  }
}
