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

/// The status line and headers of a response; on a client, they arrive before the body.
package struct HTTPHead: Hashable, Sendable {
  /// The status, such as 206.
  package var status = 0
  /// The protocol in the status line, such as `HTTP/1.1`.
  package var version = ""
  package var headers: HTTPHeaders = [:]

  package init(status: Int = 0, version: String = "", headers: HTTPHeaders = [:]) {
    self.status = status
    self.version = version
    self.headers = headers
  }

  /// The value of a header, or nil without it.
  package subscript(name: String) -> String? { headers[name] }

  /// The declared length of the body, or nil if it is missing or ambiguous.
  package var contentLength: Int64? { headers["content-length"].flatMap(Int64.init(digits:)) }

  package var isSuccess: Bool { (200..<300).contains(status) }

  /// The value of `Content-Range`, or nil if it is missing or malformed.
  package var contentRange: ContentRange? { headers["content-range"].flatMap(ContentRange.init) }

  /// The encoding of the body in lower case, or nil for the bytes as they were published.
  package var encoding: String? {
    let encoding = (headers["content-encoding"] ?? "").lowercased()
    return encoding.isEmpty || encoding == "identity" ? nil : encoding
  }

  /// Whether the type of the body is a web page; servers also use it for unknown files.
  package var isPage: Bool {
    let type = (headers["content-type"] ?? "").lowercased().prefix { $0 != ";" }.trimmed
    return ["text/html", "application/xhtml+xml"].contains(type)
  }

  /// Whether this is a redirect to another URL.
  package var isRedirect: Bool {
    [301, 302, 303, 307, 308].contains(status) && headers["location"] != nil
  }

  /// The lines of the head of a connection's last response, without the empty line at its end.
  ///
  /// For a response that is not sent by an HTTP library.
  package var lastLines: String {
    let all = headers + ["Date": HTTPDate.text(HTTPDate.now), "Connection": "close"]
    return "HTTP/1.1 \(status) \(HTTPStatus.reason(status))\r\n"
      + all.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
  }
}

/// Collects the header lines that libcurl delivers, one per call.
///
/// Pure and limited. A status line starts a new head, since the previous one was an interim
/// response (1xx).
package struct HeadCollector {
  /// The head of the last answer.
  package private(set) var head = HTTPHead()
  private var bytes = 0
  private var lines = 0
  private let limit: Int
  private static let maximumLines = 256

  /// Creates a collector; `limit` is the maximum bytes of all heads of one request.
  package init(limit: Int) { self.limit = limit }

  /// Adds one line with its line break; returns false if a limit is exceeded.
  package mutating func add(_ line: UnsafeRawBufferPointer) -> Bool {
    bytes += line.count
    lines += 1
    guard bytes <= limit, lines <= Self.maximumLines else { return false }
    let text = line[...].trimmed
    if text.starts(with: "HTTP/".utf8) {
      let words = text.split(separator: UInt8(ascii: " "), maxSplits: 2)
      let status = words.count > 1 ? Int64(digits: words[1].text) : nil
      head = HTTPHead(status: Int(status ?? 0), version: words[0].text)
    } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
      let value = text[(colon + 1)...].trimmed.text
      head.headers.append(HTTPHeader(text[..<colon].text, value))
    }
    return true
  }

  /// Starts a new head after a redirect; the counters are kept.
  package mutating func restart() { head = HTTPHead() }
}

/// A header line as bytes.
///
/// Strings would cost ten times as much.
extension Slice<UnsafeRawBufferPointer> {
  /// The bytes without spaces, tabs and line breaks at both ends.
  fileprivate var trimmed: Self {
    let isText: (UInt8) -> Bool = { $0 != 0x20 && !(0x09...0x0d).contains($0) }
    guard let first = firstIndex(where: isText), let last = lastIndex(where: isText) else {
      return self[..<startIndex]
    }
    return self[first...last]
  }

  fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
