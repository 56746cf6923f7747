import Foundation
import HostedTestSupport
import Testing

extension SellingProcess {
  /// A client that sends bytes.
  func client() throws -> APIClient {
    let port = try #require(URL(string: url)?.port)
    return try APIClient(port: UInt16(clamping: port), of: self)
  }
}

/// A store server as a process, and the token of a key with all scopes.
struct RequestFixture: Sendable {
  let tool: Tool
  let server: SellingProcess
  let token: String

  init() throws {
    tool = try Tool.withShop()
    token = try tool.text("token")
    server = try SellingProcess(tool)
  }

  /// The header field with the token.
  var authorization: String { "Authorization: Bearer \(token)" }

  /// The body of a valid purchase.
  static let body = "{\"productIdentifier\": \"\(Tool.chapter1)\", \"account\": \"alice\"}"

  /// The bytes of a purchase.
  func purchase(_ transaction: String, _ lines: [String] = [], body: String = Self.body) -> String {
    text("POST", "/v1/purchases", ["Idempotency-Key: \(transaction)"] + lines, body: body)
  }

  /// The bytes of a request with the token.
  func text(
    _ method: String, _ target: String, _ lines: [String] = [], body: String = ""
  ) -> String {
    APIClient.text(method, target, [authorization] + lines, body: body)
  }

  /// Sends a request with the token on a new connection.
  func send(_ method: String, _ target: String, body: String = "") throws -> APIClient.Response {
    let client = try server.client()
    client.send(text(method, target, body: body))
    return try client.response()
  }

  // MARK: Problems

  /// Sends bytes on a new connection, and returns the response.
  ///
  /// Fails the test unless it is a typed problem with one of `statuses`, and the server then serves
  /// another client.
  @discardableResult
  func expectProblem(
    _ statuses: Set<Int>, to bytes: [UInt8], location: SourceLocation = #_sourceLocation
  ) throws -> APIClient.Response? {
    let client = try server.client()
    client.send(bytes)
    let shown = String(decoding: bytes.prefix(400), as: UTF8.self).debugDescription
    let response = expectProblem(statuses, at: client, after: shown, location: location)
    try expectService(location: location)
    return response
  }

  @discardableResult
  func expectProblem(
    _ statuses: Set<Int>, to text: String, location: SourceLocation = #_sourceLocation
  ) throws -> APIClient.Response? {
    try expectProblem(statuses, to: Array(text.utf8), location: location)
  }

  /// Receives a response, and fails the test unless it is a typed problem with one of `statuses`.
  ///
  /// With `orClose`, the server may also close the connection without a response.
  @discardableResult
  func expectProblem(
    _ statuses: Set<Int>, at client: APIClient, after request: String, orClose: Bool = false,
    location: SourceLocation = #_sourceLocation
  ) -> APIClient.Response? {
    do {
      let response = try client.response()
      #expect(
        statuses.contains(response.status) && response.isTypedProblem,
        "\(request): \(response)", sourceLocation: location)
      return response
    } catch {
      #expect(
        orClose && (error as? APIClient.End) == .closed, "\(request): \(error)",
        sourceLocation: location)
      return nil
    }
  }

  /// Fails the test unless the server serves another client.
  func expectService(location: SourceLocation = #_sourceLocation) throws {
    let status = try server.client().get("/readyz").status
    #expect(status == 200, sourceLocation: location)
  }

  /// Fails the test unless no bad request had an effect on the ledger or on the log.
  func expectNoEffect(of transaction: String, location: SourceLocation = #_sourceLocation) throws {
    let status = try send("GET", "/v1/purchases/\(transaction)").status
    #expect(status == 404, "\(transaction) was sold", sourceLocation: location)
    let log = server.log
    #expect(log == "\(server.url)\n", sourceLocation: location)
  }
}

extension APIClient.Response {
  /// Whether it is a complete problem document (RFC 9457), with the members of this API.
  var isTypedProblem: Bool {
    let found = object
    guard let detail = found["detail"] as? String, let remedy = found["remedy"] as? String
    else { return false }
    return headers["content-type"] == "application/problem+json"
      && found["status"] as? Int == status && found["code"] as? Int != nil && !detail.isEmpty
      && !remedy.isEmpty
  }

  /// The JSON object in the body; empty for other bodies.
  var object: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
  }

  /// The body, parsed as JSON.
  func document() throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
  }
}
