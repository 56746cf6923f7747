import HostedTestSupport

/// A connection to a store server that stays open for several requests; for one thread.
struct StoreConnection {
  private let client: APIClient
  private let token: String

  init(port: Int, token: String) throws {
    client = try APIClient(port: UInt16(port))
    self.token = token
  }

  /// Sends a request; a POST request has a body, maybe an empty one.
  func send(_ method: String, _ target: String, key: String? = nil, body: String = "") {
    var lines = ["Authorization: Bearer \(token)"]
    if let key { lines.append("Idempotency-Key: \(key)") }
    if method == "POST" { lines.append("Content-Type: application/json") }
    if method == "POST", body.isEmpty { lines.append("Content-Length: 0") }
    client.send(APIClient.text(method, target, lines, body: body))
  }

  /// Receives the response to the first request that has none.
  func receive() throws -> APIClient.Response { try client.response() }

  /// Sends a request and receives its response.
  func call(
    _ method: String, _ target: String, key: String? = nil, body: String = ""
  ) throws -> APIClient.Response {
    send(method, target, key: key, body: body)
    return try receive()
  }

  /// Whether bytes or the end of the connection have arrived.
  var hasInput: Bool { client.hasInput }
}
