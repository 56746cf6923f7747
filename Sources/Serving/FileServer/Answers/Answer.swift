package import HostedHTTPValues

/// The responses of a file server.
///
/// A `Transmission` says how a response is sent.
extension HTTPResponse<ServedBody> {
  /// Creates a response with `bytes` of `contentType`.
  ///
  /// Caches do not store it.
  package init(_ status: Int, contentType: String, _ bytes: [UInt8]) {
    self.init(
      status, headers: ["Content-Type": contentType, "Cache-Control": "no-store"],
      body: ServedBody(bytes))
  }

  /// Creates a response with one line of text.
  package init(_ status: Int, text: String) {
    self.init(status, contentType: "text/plain; charset=utf-8", Array("\(text)\n".utf8))
  }

  static var notFound: Self { Self(404, text: "Not found.") }
  static var malformed: Self { Self(400, text: HTTPRefusal.malformedTarget.reason) }

  /// Creates the response to `request`, a GET or HEAD, for `representation`.
  init(to request: HTTPRequest, of representation: Representation) {
    let validators = representation.validators
    switch Conditions.judge(request.headers, validators) {
    case .failed:
      self.init(412, text: "The file does not match the request's condition.")
      return
    // Its Content-Length, if any, is the length of the body that is not sent (RFC 9110, 8.6).
    case .notModified: self.init(304, body: representation.body)
    case .proceed:
      // A range only has a meaning with GET (RFC 9110, 14.2).
      let asked =
        request.method == "GET" && Conditions.rangeHolds(request.headers, validators)
        ? request.headers["range"] : nil
      switch ByteRange(asked, size: representation.size) {
      case .whole: self.init(200, body: representation.body)
      case .unsatisfiable:
        self.init(416, text: "The range is beyond the end of the file.")
        let place = ContentRange(bytes: nil, total: representation.size)
        headers["Content-Range"] = place.text
        body.place = place
        return
      case .part(let range):
        self.init(206, body: representation.body)
        body.range = range
        show(ContentRange(bytes: range, total: representation.size))
      }
      headers["Content-Type"] = representation.contentType
      headers["Accept-Ranges"] = "bytes"
    }
    if body.place == nil { body.place = ContentRange(bytes: nil, total: representation.size) }
    headers["ETag"] = validators.entityTag
    headers["Last-Modified"] = validators.modified.map(HTTPDate.text)
    headers["Cache-Control"] = representation.cacheControl
  }

  /// Declares `place` as the part of the file in the body, and sets Content-Range.
  mutating func show(_ place: ContentRange) {
    body.place = place
    headers["Content-Range"] = place.text
  }
}
