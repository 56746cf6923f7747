import ContentModel
import ContentTransfer
import ContentTrust
import HostedContent

/// Sends requests to a store server; blocks.
struct ServiceClient {
  private let session: HTTPSession
  /// Without a slash at the end.
  private let address: String

  /// The maximum length of a response, in bytes: a page has up to 1,000 receipts.
  private static let limit = 32 << 20

  init(_ arguments: Arguments) throws {
    let url = try WebURL(arguments.required("--service"))
    let base = url.parts.base
    address = String(base.hasSuffix("/") ? base.dropLast() : base)
    var network = try arguments.network()
    network.bearerToken = try arguments.secret("--service-token-file")
    session = try network.session(for: [url])
  }

  /// Ends the session's thread.
  func close() { session.close() }

  /// Sends a GET request for `path`, which is below `/v1/` and already encoded.
  func get(_ path: String) throws -> JSONValue {
    try send(HTTPRequest(url(path), limit: Self.limit))
  }

  /// Sends a POST request that can be repeated; null for a response without a body.
  func post(
    _ path: String, _ body: [String: JSONValue] = [:], idempotencyKey: String? = nil
  ) throws -> JSONValue {
    var headers = [HTTPHeader("Content-Type", "application/json")]
    headers += idempotencyKey.map { [HTTPHeader("Idempotency-Key", $0)] } ?? []
    var request = HTTPRequest(try url(path), headers: headers, limit: Self.limit)
    request.method = "POST"
    request.body = JSONValue.object(body).encoded
    request.isRepeatable = true
    return try send(request)
  }

  private func url(_ path: String) throws -> WebURL { try WebURL("\(address)/v1/\(path)") }

  private func send(_ request: HTTPRequest) throws -> JSONValue {
    let response = try session.send(request)
    let document: JSONValue? =
      response.body.isEmpty ? .null : try? JSONValue(parsing: response.body)
    guard (200..<300).contains(response.status) else {
      throw ContentError.refused(response.status, document, by: address)
    }
    guard let document else {
      throw ContentError(
        .answerUnusable, "The response of the store server at \(address) is not JSON",
        remedy: "Check the address of the store server")
    }
    return document
  }
}

extension ContentError {
  /// The error in a response: problem details (RFC 9457), or only a status.
  fileprivate static func refused(_ status: Int, _ problem: JSONValue?, by address: String)
    -> ContentError
  {
    guard let detail = problem?["detail"]?.string, let remedy = problem?["remedy"]?.string,
      let code = problem?["code"]?.integer.flatMap({ Int(exactly: $0) })
    else {
      return ContentError(
        [401, 403].contains(status) ? .accessDenied : .requestRefused,
        "The server at \(address) refused the request with status \(status)",
        remedy: "Check the address of the store server, and the token")
    }
    return ContentError(
      Code(rawValue: code), detail.printable(limit: 1_000), remedy: remedy.printable(limit: 1_000),
      subject: problem?["subject"]?.string?.printable(limit: 200))
  }
}

extension Arguments {
  /// The path of the account of `--account`, below `/v1/`.
  func accountPath() throws -> String {
    "accounts/\(PercentEncoding.component(try text("--account") ?? "-"))"
  }
}
