import HostedDigests
package import HostedHTTPValues
import HostedModel

/// The body of a store server's response.
package enum APIBody: Sendable {
  case bytes([UInt8])
  /// A stream of events that stays open.
  case stream(any ResponseStream)
}

/// The body of a response that is sent while it is produced, without a thread.
///
/// Thread-safe.
package protocol ResponseStream: Sendable {
  /// Returns available bytes, at most `limit`.
  ///
  /// After `.wait`, `onReady` is called once, on any thread, when `next` will return another part.
  func next(_ limit: Int, onReady: @escaping @Sendable () -> Void) -> ResponsePart
  /// The client has disconnected, or the server stops; `next` is not called again.
  func cancel()
}

package enum ResponsePart: Sendable {
  case bytes([UInt8])
  case wait
  case end
}

extension HTTPResponse<APIBody> {
  package init(_ status: Int, headers: HTTPHeaders = [:], _ body: [UInt8] = []) {
    self.init(status, headers: headers, body: .bytes(body))
  }

  /// A JSON document that is not cached.
  static func json(
    _ status: Int, _ value: JSONValue, headers: HTTPHeaders = [:],
    type: String = "application/json"
  ) -> Self {
    let own: HTTPHeaders = ["Content-Type": type, "Cache-Control": "no-store"]
    return Self(status, headers: own + headers, value.encoded)
  }

  /// A JSON document with an entity tag; 304 if `request` already has it.
  ///
  /// Without `tag`, the tag is a digest of the document.
  static func tagged(
    _ value: JSONValue, _ tag: String? = nil, to request: HTTPRequest, headers: HTTPHeaders = [:]
  ) throws -> Self {
    let document = value.encoded
    let tag = try tag ?? String(Digest(of: document).hex.prefix(32))
    return unchanged(tag, for: request)
      ?? Self(
        200, headers: ["Content-Type": "application/json"] + validators(tag) + headers, document)
  }

  /// The response 304 if the client has a copy with this entity tag; nil otherwise.
  static func unchanged(_ tag: String, for request: HTTPRequest) -> Self? {
    let known = request.headers["if-none-match"] ?? ""
    return Conditions.matches(known, "\"\(tag)\"", weakly: true)
      ? Self(304, headers: validators(tag)) : nil
  }

  private static func validators(_ tag: String) -> HTTPHeaders {
    ["ETag": "\"\(tag)\"", "Cache-Control": "private, no-cache"]
  }
}

extension HTTPHeader {
  /// The header that links to the next page (RFC 8288).
  static func link(toNext target: String) -> HTTPHeader {
    HTTPHeader("Link", "<\(target)>; rel=\"next\"")
  }
}
