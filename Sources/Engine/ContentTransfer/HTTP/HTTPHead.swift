/// The status line and headers of an answer.
package struct HTTPHead: Hashable, Sendable {
  /// The status, such as 206.
  package var status = 0
  /// The protocol as the status line names it, such as `HTTP/1.1`.
  package var version = ""
  /// Values by lower-cased name; those of repeated headers are joined by `, `.
  package var headers: [String: String] = [:]

  package init(status: Int = 0, version: String = "", headers: [String: String] = [:]) {
    self.status = status
    self.version = version
    self.headers = headers
  }

  package subscript(name: String) -> String? { headers[name] }

  /// The length that the server promises; nil when it promises none, or contradicts itself.
  package var contentLength: Int64? {
    headers["content-length"].flatMap(Int64.init(digits:))
  }

  /// Whether the server says that it sends what was asked for.
  package var isSuccess: Bool { (200..<300).contains(status) }

  /// Whether the body is a web page by its type, which servers also give to files that they do not
  /// know.
  var isPage: Bool {
    let type = (headers["content-type"] ?? "").lowercased().prefix { $0 != ";" }.trimmed
    return ["text/html", "application/xhtml+xml"].contains(type)
  }

  /// Whether it leads to another URL.
  package var isRedirect: Bool {
    [301, 302, 303, 307, 308].contains(status) && headers["location"] != nil
  }
}

extension Int64 {
  /// Reads decimal digits and nothing else, neither sign nor space.
  init?(digits text: some StringProtocol) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    self.init(text)
  }
}

/// Collects header lines as libcurl hands them over, one call a line; pure and bounded.
///
/// A new status line starts over: what came before was an interim answer (1xx).
package struct HeadCollector {
  /// What was collected of the last answer.
  package private(set) var head = HTTPHead()
  private var bytes = 0
  private var lines = 0
  private let limit: Int
  private static let maximumLines = 256

  /// `limit` is in bytes, over all heads of one request.
  package init(limit: Int) { self.limit = limit }

  /// Takes one line with its line break; false when there are too many.
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

  /// Starts over after a redirect; what was counted stays counted.
  mutating func restart() { head = HTTPHead() }
}

/// Bytes of a header line: as text they would cost ten times as much.
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

  /// The text with the letters of ASCII in lower case; names of headers have no others.
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
