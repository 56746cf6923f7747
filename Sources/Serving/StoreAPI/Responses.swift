import HostedModel
import HostedDigests
import HostedFileServer

/// The response of a store server.
package struct APIResponse: Sendable {
  package var status: Int
  /// Content-Length, Date and Connection are added when it is sent.
  package var headers: [(name: String, value: String)]
  package var body: Body

  package enum Body: Sendable {
    case bytes([UInt8])
    /// A stream of events that stays open.
    case stream(any ResponseStream)
  }

  package init(_ status: Int, headers: [(name: String, value: String)] = [], _ body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = .bytes(body)
  }
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

extension APIResponse {
  /// A JSON document that is not cached.
  static func json(
    _ status: Int, _ value: JSONValue, headers: [(name: String, value: String)] = [],
    type: String = "application/json"
  ) -> APIResponse {
    let own = [(name: "Content-Type", value: type), (name: "Cache-Control", value: "no-store")]
    return APIResponse(status, headers: own + headers, value.encoded)
  }

  /// A JSON document with an entity tag; 304 if `request` already has it.
  ///
  /// Without `tag`, the tag is a digest of the document.
  static func tagged(
    _ value: JSONValue, _ tag: String? = nil, to request: ServerRequest,
    headers: [(name: String, value: String)] = []
  ) throws -> APIResponse {
    let document = value.encoded
    let tag = try tag ?? String(Digest(of: document).hex.prefix(32))
    return unchanged(tag, for: request)
      ?? APIResponse(
        200,
        headers: [(name: "Content-Type", value: "application/json")] + validators(tag) + headers,
        document)
  }

  /// The response 304 if the client has a copy with this entity tag; nil otherwise.
  static func unchanged(_ tag: String, for request: ServerRequest) -> APIResponse? {
    let known = request.header("if-none-match") ?? ""
    return Conditions.matches(known, "\"\(tag)\"", weakly: true)
      ? APIResponse(304, headers: validators(tag)) : nil
  }

  /// The header that links to the next page (RFC 8288).
  static func link(toNext target: String) -> (name: String, value: String) {
    (name: "Link", value: "<\(target)>; rel=\"next\"")
  }

  private static func validators(_ tag: String) -> [(name: String, value: String)] {
    [
      (name: "ETag", value: "\"\(tag)\""), (name: "Cache-Control", value: "private, no-cache"),
    ]
  }
}
