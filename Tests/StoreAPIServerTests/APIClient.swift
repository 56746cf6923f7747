import Glibc
import TestSupport

/// A client that sends bytes and receives one response after another.
final class APIClient {
  private let socket: Int32
  private var received: [UInt8] = []
  /// Stops with its last reference.
  private let server: AnyObject?

  /// How a connection ended.
  enum End: Error, Hashable {
    case refused
    case closed
    case reset
    /// Nothing arrived within the time limit of tests.
    case silence
  }

  struct Response {
    let status: Int
    /// By lower-case name.
    let headers: [String: String]
    var body: String

    /// Whether it has complete problem details (RFC 9457).
    var isProblem: Bool {
      headers["content-type"] == "application/problem+json"
        && ["\"status\":\(status)", "\"code\":", "\"detail\":\"", "\"remedy\":\""]
          .allSatisfy { body.contains($0) }
        && !body.contains("\"title\":\"Error\"")
    }
  }

  init(port: UInt16, of server: AnyObject? = nil) throws {
    let socket = Loopback.stream()
    self.socket = socket
    self.server = server
    guard Loopback.at(port, { connect(socket, $0, $1) }) == 0 else { throw End.refused }
    var timeout = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(socket) }

  func send(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard sent > 0 else { return }
      rest = rest.dropFirst(sent)
    }
  }

  /// Sends a request with these lines after the Host field.
  func request(_ method: String, _ target: String, _ lines: String..., body: String = "") {
    send(Self.text(method, target, lines, body: body))
  }

  /// The bytes of a request.
  static func text(
    _ method: String, _ target: String, _ lines: [String] = [], body: String = ""
  ) -> String {
    let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
    let head = ["\(method) \(target) HTTP/1.1", "Host: test"] + length + lines
    return head.map { "\($0)\r\n" }.joined() + "\r\n" + body
  }

  /// Sends a request and receives its response.
  func get(_ target: String, _ method: String = "GET") throws -> Response {
    request(method, target)
    return try response(hasBody: method != "HEAD")
  }

  /// Receives a response.
  func response(hasBody: Bool = true) throws -> Response {
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
  func head() throws -> Response {
    let lines = try receive(through: "\r\n\r\n").split(separator: "\r\n")
    let fields = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (parts[0].lowercased(), String(parts[1].drop { $0 == " " }))
    }
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return Response(
      status: status ?? 0, headers: Dictionary(fields) { "\($0), \($1)" }, body: "")
  }

  /// Receives a chunk of a body; nil at its end.
  func chunk() throws -> String? {
    let length = Int(try receive(through: "\r\n").dropLast(1), radix: 16) ?? 0
    let bytes = try receive(length)
    _ = try receive(through: "\r\n")
    return length == 0 ? nil : bytes
  }

  /// Receives until the connection ends, and returns how.
  func end() -> End {
    while true {
      do { try receiveMore() } catch { return error }
    }
  }

  /// Closes the connection.
  func leave() { shutdown(socket, Int32(SHUT_RDWR)) }

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

  private func receiveMore() throws(End) {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(socket, &buffer, buffer.count, 0)
    guard count > 0 else {
      let end: End = count == 0 ? .closed : errno == ECONNRESET ? .reset : .silence
      throw end
    }
    received += buffer[..<count]
  }
}
