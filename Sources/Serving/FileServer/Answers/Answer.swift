import HostedTransfer

/// An HTTP response: status, headers and body.
///
/// A `Transmission` says how it is sent.
package struct Answer: Sendable {
  package var status: Int
  /// The header fields in order.
  ///
  /// Date, Content-Length and Connection are added when it is sent.
  package private(set) var headers: [(name: String, value: String)]
  var body: Body
  /// The part of the file in the body, for a 206.
  var part: Part?
  /// The size of the requested file; nil without a file.
  var wholeSize: Int64?

  /// The position of a body in a file.
  struct Part: Hashable {
    var range: Range<Int64>
    var total: Int64

    /// The value of Content-Range.
    var text: String { "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)" }
  }

  /// Creates a response with `bytes` of `contentType`.
  ///
  /// Caches do not store it.
  package init(_ status: Int, contentType: String, _ bytes: [UInt8]) {
    self.init(status, Body(bytes))
    set("Content-Type", contentType)
    set("Cache-Control", "no-store")
  }

  /// Creates a response with one line of text.
  package init(_ status: Int, text: String) {
    self.init(status, contentType: "text/plain; charset=utf-8", Array("\(text)\n".utf8))
  }

  private init(_ status: Int, _ body: Body) {
    self.status = status
    self.body = body
    headers = []
  }

  /// Sets the header `name` to one value; nil removes it.
  package mutating func set(_ name: String, _ value: String?) {
    headers.removeAll { $0.name.lowercased() == name.lowercased() }
    if let value { headers.append((name, value)) }
  }

  static let notFound = Answer(404, text: "Not found.")
  static let malformed = Answer(400, text: RequestHead.Refusal.malformedTarget.reason)
}

extension Answer {
  /// Creates the response to `request`, a GET or HEAD, for `representation`.
  init(to request: ServerRequest, of representation: Representation) {
    switch Conditions.judge(request, representation) {
    case .failed:
      self.init(412, text: "The file does not match the request's condition.")
      return
    // Its Content-Length, if any, is the length of the body that is not sent (RFC 9110, 8.6).
    case .notModified: self.init(304, representation.body)
    case .proceed:
      // A range only has a meaning with GET (RFC 9110, 14.2).
      let asked =
        request.method == "GET" && Conditions.rangeHolds(request, representation)
        ? request.header("range") : nil
      switch ByteRange(asked, size: representation.size) {
      case .whole: self.init(200, representation.body)
      case .unsatisfiable:
        self.init(416, text: "The range is beyond the end of the file.")
        set("Content-Range", "bytes */\(representation.size)")
        wholeSize = representation.size
        return
      case .part(let range):
        var body = representation.body
        body.range = range
        self.init(206, body)
        show(Part(range: range, total: representation.size))
      }
      set("Content-Type", representation.contentType)
      set("Accept-Ranges", "bytes")
    }
    wholeSize = representation.size
    set("ETag", representation.entityTag)
    set("Last-Modified", representation.modified.map(HTTPDate.text))
    set("Cache-Control", representation.cacheControl)
  }

  /// Sends `part` of the file, and sets Content-Range.
  mutating func show(_ part: Part) {
    self.part = part
    set("Content-Range", part.text)
  }
}
