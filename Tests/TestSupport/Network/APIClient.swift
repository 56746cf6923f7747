/// A client of a server on this machine, which sends bytes and receives one response after another.
package final class APIClient {
  package typealias End = ClientSocket.End

  private let socket: ClientSocket
  private var received: [UInt8] = []
  /// Stops with its last reference.
  private let server: AnyObject?

  /// A received response.
  package struct Response: Sendable {
    package let status: Int
    /// By lower-case name.
    package let headers: [String: String]
    package fileprivate(set) var body: String

    /// Whether it has complete problem details (RFC 9457).
    package var isProblem: Bool {
      headers["content-type"] == "application/problem+json"
        && ["\"status\":\(status)", "\"code\":", "\"detail\":\"", "\"remedy\":\""]
          .allSatisfy { body.contains($0) }
        && !body.contains("\"title\":\"Error\"")
    }
  }

  package init(port: UInt16, of server: AnyObject? = nil) throws {
    socket = try ClientSocket(port: port)
    self.server = server
  }

  package func send(_ text: String) { send(Array(text.utf8)) }

  package func send(_ bytes: [UInt8]) { socket.send(bytes) }

  /// Sends a request with these lines after the Host field.
  package func request(_ method: String, _ target: String, _ lines: String..., body: String = "") {
    send(Self.text(method, target, lines, body: body))
  }

  /// The bytes of a request.
  package static func text(
    _ method: String, _ target: String, _ lines: [String] = [], body: String = ""
  ) -> String {
    let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
    let head = ["\(method) \(target) HTTP/1.1", "Host: test"] + length + lines
    return head.map { "\($0)\r\n" }.joined() + "\r\n" + body
  }

  /// Sends a request and receives its response.
  package func get(_ target: String, _ method: String = "GET") throws -> Response {
    request(method, target)
    return try response(hasBody: method != "HEAD")
  }

  /// Receives a response.
  package func response(hasBody: Bool = true) throws -> Response {
    var response = try head()
    guard hasBody, response.status != 204, response.status != 304 else { return response }
    if let length = response.headers["content-length"].flatMap({ Int($0) }) {
      response.body = try receive(length)
    } else {
      while let chunk = try chunk() { response.body += chunk }
    }
    return response
  }

  /// Receives the head of a response.
  package func head() throws -> Response {
    let lines = try receive(through: "\r\n\r\n").split(separator: "\r\n")
    let fields = lines.dropFirst().map { line in
      let name = line.prefix { $0 != ":" }
      return (name.lowercased(), String(line.dropFirst(name.count + 1).drop { $0 == " " }))
    }
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return Response(
      status: status ?? 0, headers: Dictionary(fields) { "\($0), \($1)" }, body: "")
  }

  /// Receives a chunk of a body; nil at its end.
  package func chunk() throws -> String? {
    let length = Int(try receive(through: "\r\n").dropLast(1), radix: 16) ?? 0
    let bytes = try receive(length)
    _ = try receive(through: "\r\n")
    return length == 0 ? nil : bytes
  }

  /// Whether bytes or the end of the connection have arrived.
  package var hasInput: Bool { !received.isEmpty || socket.hasInput() }

  /// Receives until the connection ends, and returns how.
  package func end() -> End {
    while true {
      do { try receiveMore() } catch { return error }
    }
  }

  /// Ends the direction to the server: the request is not continued.
  package func half() { socket.half() }

  /// Closes the connection.
  package func leave() { socket.leave() }

  private func receive(through text: String) throws(End) -> String {
    let mark = Array(text.utf8)
    while true {
      let starts = received.indices.first { received[$0...].starts(with: mark) }
      if let starts { return try receive(starts + mark.count) }
      try receiveMore()
    }
  }

  private func receive(_ count: Int) throws(End) -> String {
    while received.count < count { try receiveMore() }
    defer { received.removeFirst(count) }
    return String(decoding: received[..<count], as: UTF8.self)
  }

  private func receiveMore() throws(End) { received += try socket.receive() }
}
