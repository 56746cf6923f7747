import ContentModel
import ContentTrust
import Digests
import StoreServer

extension APIResponse {
  /// A JSON document; not cached unless `headers` replace this.
  static func json(
    _ status: Int, _ value: JSONValue, headers: [(name: String, value: String)] = [],
    type: String = "application/json"
  ) -> APIResponse {
    json(status, value.encoded, headers: headers, type: type)
  }

  private static func json(
    _ status: Int, _ document: [UInt8], headers: [(name: String, value: String)],
    type: String = "application/json"
  ) -> APIResponse {
    let isCached = headers.contains { $0.name == "Cache-Control" }
    var all = [(name: "Content-Type", value: type)]
    if !isCached { all.append((name: "Cache-Control", value: "no-store")) }
    return APIResponse(status, headers: all + headers, document)
  }

  /// A JSON document with an entity tag; 304 if `request` already has it.
  ///
  /// Without `tag`, the tag is a digest of the document.
  static func tagged(
    _ value: JSONValue, _ tag: String? = nil, to request: ServerRequest,
    headers: [(name: String, value: String)] = []
  ) throws -> APIResponse {
    let document = value.encoded
    let text = if let tag { tag } else { try String(Digest(of: document).hex.prefix(32)) }
    return unchanged(text, for: request)
      ?? .json(200, document, headers: validators(text) + headers)
  }

  /// The response 304 if the client has a copy with this entity tag (RFC 9110, 13.1.2); nil otherwise.
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
