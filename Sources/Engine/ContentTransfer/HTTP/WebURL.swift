import CCurl
import ContentModel
import Glibc

/// A URL of the web that was parsed by libcurl, so that what is checked is what is connected to.
package struct WebURL: Hashable, Sendable, CustomStringConvertible {
  /// The whole URL, normalized; holds neither user name nor password.
  package let text: String
  /// `http` or `https`.
  package let scheme: String
  /// The host's name or address.
  package let host: String
  /// The port, also where the URL names none.
  package let port: Int
  /// Scheme, host and port: who may see credentials, and whose connections are counted.
  ///
  /// Kept, because limits ask for it with each arrival of bytes.
  package let origin: String

  /// URLs may not be longer, in bytes.
  private static let maximumLength = 8192

  /// Parses `text`; throws `usage` unless it is an http or https URL with a host and without a
  /// user name, which would end up in messages and logs.
  package init(_ text: String) throws {
    guard let parts = Self.parse(text) else {
      throw ContentError(
        .usage, "“\(Self.shown(text))” is no URL of a web server that can be used",
        remedy: "Use http:// or https:// with a host; put credentials into headers",
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

  /// What of an unusable URL may be shown: nothing before an `@`, which may be a password.
  private static func shown(_ text: String) -> String {
    (text.lastIndex(of: "@").map { text[text.index(after: $0)...] } ?? text[...])
      .printable(limit: 200)
  }

  /// Whether connections to it are encrypted.
  package var isSecure: Bool { scheme == "https" }

  /// Whether it is on this machine: 127.0.0.0/8, ::1, or localhost, which libcurl resolves to these
  /// itself, without a name server (RFC 6761, section 6.3; since libcurl 7.78).
  package var isLoopback: Bool {
    if host == "localhost" { return true }
    var (short, long) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, host, &short) == 1 { return UInt32(bigEndian: short.s_addr) >> 24 == 127 }
    guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &long) == 1 else { return false }
    return withUnsafeBytes(of: long) { $0.last == 1 && $0.dropLast().allSatisfy { $0 == 0 } }
  }

  /// The address of the proxy that `text` names for libcurl, and whether it has a user name or a
  /// password.
  ///
  /// The scheme is http where `text` has none. Throws `usage` if libcurl would refuse the address.
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
        .usage, "“\(shown(text))” is not the address of a proxy",
        remedy: "Use an address such as http://proxy.example:3128; check the proxy's setting and "
          + "the variables http_proxy, https_proxy and all_proxy",
        subject: shown(text))
    }
    // The port that libcurl takes for a proxy without one.
    let port = part(CURLUPART_PORT, of: handle).flatMap { Int($0) } ?? 1080
    let hasSecret =
      part(CURLUPART_USER, of: handle) != nil || part(CURLUPART_PASSWORD, of: handle) != nil
    return (WebURL(text: "", scheme: scheme, host: host.lowercased(), port: port), hasSecret)
  }

  private static let proxySchemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

  /// The URL without its query, which may hold a signature; for messages.
  package var description: String {
    (text.firstIndex(of: "?").map { text[..<$0] } ?? text[...]).printable()
  }

  /// The URL of `path` below this one, each component percent-encoded; a query stays behind.
  ///
  /// Throws `usage` when the whole becomes no URL.
  package func appending(_ path: String) throws -> WebURL {
    let cut = text.firstIndex(of: "?")
    let base = cut.map { text[..<$0] } ?? text[...]
    let query = cut.map { text[$0...] } ?? ""
    let slash = base.hasSuffix("/") ? "" : "/"
    return try WebURL("\(base)\(slash)\(Self.percentEncoded(path))\(query)")
  }

  /// `path` with everything but unreserved characters and `/` percent-encoded (RFC 3986 §2.3).
  private static func percentEncoded(_ path: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "/"):
        encoded.append(byte)
      default:
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
