import ContentModel
import Digests
import StoreServer

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

  private static func validators(_ tag: String) -> [(name: String, value: String)] {
    [
      (name: "ETag", value: "\"\(tag)\""), (name: "Cache-Control", value: "private, no-cache"),
    ]
  }
}
