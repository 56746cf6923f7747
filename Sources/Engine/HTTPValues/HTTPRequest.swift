import HostedModel

/// An HTTP request as a server receives it.
package struct HTTPRequest: Sendable {
  /// The method as it was sent, such as `GET`.
  package let method: String
  /// The request target as it was sent, for logs.
  package let target: String
  /// The parsed target; nil if it is malformed.
  package let location: RequestLocation?
  /// For example `HTTP/1.1`.
  package let version: String
  package var headers: HTTPHeaders
  /// The body; empty before it has arrived, and on a server that ignores it.
  package var body: [UInt8]

  /// Parses the target of a request.
  ///
  /// With `allowsEscapedSlashes`, a component of the path may contain a slash: use components and
  /// not the path to route the request.
  package init(
    _ method: String, _ target: String, version: String = "HTTP/1.1", headers: HTTPHeaders = [:],
    body: [UInt8] = [], allowsEscapedSlashes: Bool = false
  ) {
    self.method = method
    self.target = target
    self.version = version
    self.headers = headers
    self.body = body
    location = RequestLocation(target, allowsEscapedSlashes: allowsEscapedSlashes)
  }

  /// The decoded path, such as `/metadata/timestamp.json`; the raw target if it is malformed.
  package var path: String { location?.path ?? target }
}

/// Why a server refuses a request without processing it: a status and a sentence.
package struct HTTPRefusal: Hashable, Sendable {
  package let status: Int
  package let reason: String

  package init(_ status: Int, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  package static let malformedTarget = badRequest("The request target is malformed.")
  /// A line of the head is not a header field.
  package static let malformedLine = badRequest("A line of the request is malformed.")

  fileprivate static func badRequest(_ reason: String) -> HTTPRefusal { HTTPRefusal(400, reason) }
}

/// Rules for the head of a request.
///
/// Ambiguous requests are refused. If a proxy in front of a server and the server disagree where a
/// request ends, a client can hide a second request in the first (request smuggling).
/// libmicrohttpd uses the first of two equal fields and accepts any field name.
extension HTTPRequest {
  /// Why the request is ambiguous or malformed (RFC 9112, 3.2, 5 and 6.3); nil otherwise.
  package var refusal: HTTPRefusal? {
    guard method.utf8.allSatisfy(Self.isTokenByte) else {
      return .badRequest("The method is malformed.")
    }
    // 0x20 and below are control characters and the space.
    guard target.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return .malformedTarget }
    for (name, value) in headers.fields.map({ ($0.name, $0.value) }) {
      guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
        return .badRequest("The name of a header field is malformed.")
      }
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
        return .badRequest("The value of a header field has a control character.")
      }
    }
    return hostRefusal ?? lengthRefusal
  }

  private var hostRefusal: HTTPRefusal? {
    let hosts = headers.values(of: "host")
    guard hosts.count == 1 || hosts.isEmpty && isOld else {
      return .badRequest("A request must have one Host field.")
    }
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    // libmicrohttpd does not trim trailing blanks.
    guard hosts.allSatisfy({ $0.utf8.reversed().drop(while: isBlank).allSatisfy(Self.isHostByte) })
    else {
      return .badRequest("The Host field is malformed.")
    }
    return nil
  }

  /// Why the length of the body is ambiguous.
  private var lengthRefusal: HTTPRefusal? {
    let lengths = headers.values(of: "content-length")
    let codings = headers.values(of: "transfer-encoding")
    guard lengths.count + codings.count <= 1 else {
      return .badRequest("The request has more than one body length.")
    }
    guard let coding = codings.first else { return nil }
    if Self.isChunkedCoding(coding[...]) {
      return isOld ? .badRequest("HTTP/1.0 has no Transfer-Encoding.") : nil
    }
    let last = coding.split(separator: ",").last ?? ""
    guard Self.isChunkedCoding(last.drop { $0 == " " || $0 == "\t" }) else {
      return .badRequest("The end of the body is unknown.")
    }
    return HTTPRefusal(501, "Only the transfer coding “chunked” is supported.")
  }

  /// Compares bytes, as libmicrohttpd does: the Kelvin sign also has the small letter k.
  private static func isChunkedCoding(_ coding: Substring) -> Bool {
    coding.utf8.map { $0 | 0x20 }.elementsEqual("chunked".utf8)
  }

  /// Whether the body is sent in chunks.
  package var isChunked: Bool { !headers.values(of: "transfer-encoding").isEmpty }

  package var hasBody: Bool {
    isChunked
      || headers.values(of: "content-length").contains {
        $0.utf8.contains { $0 != UInt8(ascii: "0") }
      }
  }

  /// Whether it is an HTTP/1.0 request.
  private var isOld: Bool { version == "HTTP/1.0" }

  /// Letters, digits and the other characters of a token (RFC 9110, 5.6.2).
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }

  /// The characters of a host and a port (RFC 3986, 3.2).
  private static func isHostByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "-._~%!$&'()*+,;=:[]".utf8.contains(byte)
  }
}
