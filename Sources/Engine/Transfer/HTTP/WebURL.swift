import Glibc
import HostedCCurl
import HostedModel

/// An http or https URL, parsed by libcurl, so that checks and connections use the same parts.
package struct WebURL: Hashable, Sendable, CustomStringConvertible {
  /// The whole URL, normalized, without user name and password.
  package let text: String
  /// `http` or `https`.
  package let scheme: String
  /// The name or address of the host.
  package let host: String
  /// The port, or the default port of the scheme.
  package let port: Int
  /// The scheme, host and port, which determine credentials and limits.
  ///
  /// Stored, because limits need it for each received chunk.
  package let origin: String

  /// The maximum length of a URL in bytes.
  private static let maximumLength = 8192

  /// Parses `text`.
  ///
  /// Throws `usage` unless it is an http or https URL with a host. A user name is also rejected,
  /// since it would appear in messages and logs.
  package init(_ text: String) throws {
    guard let parts = Self.parse(text) else {
      throw ContentError(
        .usage, "“\(Self.shown(text))” is not a valid http or https URL",
        remedy: "Use http:// or https:// with a host. Set credentials as headers",
        subject: Self.shown(text))
    }
    self = parts
  }

  private init(text: String, scheme: String, host: String, port: Int) {
    self.text = text
    self.scheme = scheme
    self.host = host
    self.port = port
    origin = "\(scheme)://\(host):\(port)"
  }

  private static func parse(_ text: String) -> WebURL? {
    guard text.utf8.count <= maximumLength, text.utf8.allSatisfy({ $0 > 32 && $0 != 127 }),
      let handle = curl_url()
    else { return nil }
    defer { curl_url_cleanup(handle) }
    guard curl_url_set(handle, CURLUPART_URL, text, 0) == CURLUE_OK,
      part(CURLUPART_USER, of: handle) == nil, part(CURLUPART_PASSWORD, of: handle) == nil,
      let scheme = part(CURLUPART_SCHEME, of: handle), ["http", "https"].contains(scheme),
      let host = part(CURLUPART_HOST, of: handle), !host.isEmpty,
      let port = part(CURLUPART_PORT, of: handle, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) }),
      curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0) == CURLUE_OK,
      let whole = part(CURLUPART_URL, of: handle)
    else { return nil }
    return WebURL(text: whole, scheme: scheme, host: host.lowercased(), port: port)
  }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer, _ flags: UInt32 = 0)
    -> String?
  {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }

  /// Returns the part of an invalid URL that is not a password or a query, which may be secret.
  private static func shown(_ text: String) -> String {
    let (base, at) = (Self.base(of: text), UInt8(ascii: "@"))
    guard !text[base.endIndex...].utf8.contains(at) else { return "…" }
    return (base.utf8.lastIndex(of: at).map { base[base.utf8.index(after: $0)...] } ?? base)
      .printable(limit: 200)
  }

  /// The URL without its query.
  ///
  /// Works on bytes: in Swift, `?` and a combining mark are one `Character` that is not `?`.
  private static func base(of text: String) -> Substring {
    text[..<(text.utf8.firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex)]
  }

  /// Whether connections to it are encrypted.
  package var isSecure: Bool { scheme == "https" }

  /// Whether the host is this machine: 127.0.0.0/8, ::1, or localhost.
  ///
  /// libcurl resolves localhost to these addresses itself, without DNS (RFC 6761 §6.3; since
  /// libcurl 7.78).
  package var isLoopback: Bool {
    if host == "localhost" { return true }
    var (short, long) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, host, &short) == 1 { return UInt32(bigEndian: short.s_addr) >> 24 == 127 }
    guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &long) == 1 else { return false }
    return withUnsafeBytes(of: long) { $0.last == 1 && $0.dropLast().allSatisfy { $0 == 0 } }
  }

  /// Parses a proxy address in the form of libcurl.
  ///
  /// Returns whether it has a user name or password. Without a scheme, it is http. Throws `usage`
  /// if libcurl would reject the address.
  static func ofProxy(_ text: String) throws -> (address: WebURL, hasSecret: Bool) {
    let handle = curl_url()
    defer { curl_url_cleanup(handle) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME)
    let whole = text.contains("://") ? text : "http://\(text)"
    guard let handle, curl_url_set(handle, CURLUPART_URL, whole, flags) == CURLUE_OK,
      let scheme = part(CURLUPART_SCHEME, of: handle), proxySchemes.contains(scheme),
      let host = part(CURLUPART_HOST, of: handle), !host.isEmpty
    else {
      throw ContentError(
        .usage, "“\(shown(text))” is not a valid proxy address",
        remedy: "Use an address such as http://proxy.example:3128. Check the proxy setting and "
          + "the variables http_proxy, https_proxy and all_proxy",
        subject: shown(text))
    }
    // The default port of libcurl for proxies.
    let port = part(CURLUPART_PORT, of: handle).flatMap { Int($0) } ?? 1080
    let hasSecret =
      part(CURLUPART_USER, of: handle) != nil || part(CURLUPART_PASSWORD, of: handle) != nil
    return (WebURL(text: "", scheme: scheme, host: host.lowercased(), port: port), hasSecret)
  }

  private static let proxySchemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

  /// The URL without its query, which may contain a signature; for messages.
  package var description: String { parts.base.printable() }

  /// The URL without its query, and the query with its question mark.
  package var parts: (base: Substring, query: Substring) {
    let base = Self.base(of: text)
    return (base, text[base.endIndex...])
  }

  var hasQuery: Bool { !parts.query.isEmpty }

  var withoutQuery: WebURL {
    WebURL(text: String(parts.base), scheme: scheme, host: host, port: port)
  }

  /// Returns the URL of `path` below this one.
  ///
  /// Components are percent-encoded, and the query is kept. Throws `usage` if the result is not a
  /// valid URL.
  package func appending(_ path: String) throws -> WebURL {
    let (base, query) = parts
    let slash = base.hasSuffix("/") ? "" : "/"
    return try WebURL("\(base)\(slash)\(PercentEncoding.path(path))\(query)")
  }
}

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
