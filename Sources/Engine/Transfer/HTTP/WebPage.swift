/// Detects web pages, such as login pages, or error pages with status 200.
enum WebPage {
  private static let beginnings = ["<!doctype html", "<html", "<head", "<body", "<script"]
    .map { Array($0.utf8) }

  /// Returns the type of the web page that starts with `bytes`, or nil for other data.
  ///
  /// Skips white space, a byte order mark, an XML declaration and comments.
  static func type(of bytes: some Collection<UInt8>) -> String? {
    var rest = Array(bytes.prefix(1024))[...]
    if rest.starts(with: [0xef, 0xbb, 0xbf]) { rest = rest.dropFirst(3) }
    while true {
      rest = rest.drop { $0 == 0x20 || (0x09...0x0d).contains($0) }
      let isComment = rest.starts(with: "<!--".utf8)
      guard isComment || rest.starts(with: "<?xml".utf8) else { break }
      guard let end = end(of: isComment ? "-->" : "?>", in: rest) else { return nil }
      rest = rest[end...]
    }
    let text = rest.prefix(16).map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
    return beginnings.contains { text.starts(with: $0) } ? "text/html" : nil
  }

  private static func end(of mark: String, in bytes: ArraySlice<UInt8>) -> Int? {
    bytes.indices.first { bytes[$0...].starts(with: mark.utf8) }.map { $0 + mark.utf8.count }
  }
}
