/// The status line and headers of an answer.
package struct HTTPHead: Hashable, Sendable {
  /// The status, such as 206.
  package var status = 0
  /// The protocol in the status line, such as `HTTP/1.1`.
  package var version = ""
  /// The headers; names are in lower case, and values of repeated headers are joined by `, `.
  package var headers: [String: String] = [:]

  package init(status: Int = 0, version: String = "", headers: [String: String] = [:]) {
    self.status = status
    self.version = version
    self.headers = headers
  }

  package subscript(name: String) -> String? { headers[name] }

  /// The declared length of the body, or nil if it is missing or ambiguous.
  package var contentLength: Int64? { headers["content-length"].flatMap(Int64.init(digits:)) }

  package var isSuccess: Bool { (200..<300).contains(status) }

  /// The range in `Content-Range`, or nil if it is missing or malformed.
  package var range: Range<Int64>? { headers["content-range"].flatMap(ContentRange.init)?.bytes }

  /// The total length in `Content-Range`, or nil if it is missing or unknown.
  package var totalLength: Int64? { headers["content-range"].flatMap(ContentRange.init)?.total }

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
  var isRedirect: Bool {
    [301, 302, 303, 307, 308].contains(status) && headers["location"] != nil
  }
}

extension Int64 {
  /// Parses decimal digits; a sign or spaces are invalid.
  init?(digits text: some StringProtocol) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    self.init(text)
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
      let name = text[..<colon].lowercasedText
      let value = text[(colon + 1)...].trimmed.text
      head.headers[name] = head.headers[name].map { "\($0), \(value)" } ?? value
    }
    return true
  }

  /// Starts a new head after a redirect; the counters are kept.
  mutating func restart() { head = HTTPHead() }
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

  /// The bytes with ASCII letters in lower case.
  ///
  /// Header names have no other letters.
  fileprivate var lowercasedText: String {
    String(unsafeUninitializedCapacity: count) { target in
      for (index, byte) in enumerated() {
        target[index] = (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
      }
      return count
    }
  }
}

extension StringProtocol {
  /// The text without spaces, tabs and line breaks at both ends.
  var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0.isNewline }
    guard let first = firstIndex(where: { !isBlank($0) }),
      let last = lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(self[first...last])
  }
}
