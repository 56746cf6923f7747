import Foundation
import Glibc
import TestSupport

/// A connection to a store server that stays open for several requests; for one thread.
final class StoreConnection {
  /// How a connection ended.
  enum End: Error, Hashable {
    case refused
    case closed
    /// Nothing arrived within the time limit of tests.
    case silent
  }

  /// A complete response.
  struct Answer: Sendable {
    let status: Int
    /// By lower-case name.
    let headers: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The JSON object in the body; empty if there is none.
    var object: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
    }
  }

  private let descriptor: Int32
  private let token: String
  private var received: [UInt8] = []

  /// The longest wait for bytes, in seconds; a long poll waits up to 30.
  private static let timeout = 90

  init(port: Int, token: String) throws {
    let descriptor = Loopback.stream()
    guard Loopback.at(UInt16(port), { connect(descriptor, $0, $1) }) == 0 else {
      close(descriptor)
      throw End.refused
    }
    var limit = timeval(tv_sec: Self.timeout, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    self.descriptor = descriptor
    self.token = token
  }

  deinit { close(descriptor) }

  /// Sends a request; a POST request has a body, maybe an empty one.
  func send(
    _ method: String, _ target: String, key: String? = nil, body: String = ""
  ) throws {
    var lines = [
      "\(method) \(target) HTTP/1.1", "Host: localhost", "Authorization: Bearer \(token)",
    ]
    if let key { lines.append("Idempotency-Key: \(key)") }
    if method == "POST" {
      lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
    }
    let text = lines.map { "\($0)\r\n" }.joined() + "\r\n" + body
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw End.closed }
      rest = rest.dropFirst(count)
    }
  }

  /// Receives the response to the first request that has none.
  func receive() throws -> Answer {
    var end = headEnd
    while end == nil {
      try receiveMore()
      end = headEnd
    }
    let head = received.prefix(end ?? 0)
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
    let fields = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (parts.first?.lowercased() ?? "", String((parts.last ?? "").drop { $0 == " " }))
    }
    let headers = Dictionary(fields) { first, _ in first }
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    // The server states the length of each body, except of streams.
    let length = head.count + (headers["content-length"].flatMap { Int($0) } ?? 0)
    while received.count < length { try receiveMore() }
    let body = Array(received[head.count..<length])
    received.removeFirst(length)
    return Answer(status: status, headers: headers, body: body)
  }

  /// Sends a request and receives its response.
  func call(
    _ method: String, _ target: String, key: String? = nil, body: String = ""
  ) throws -> Answer {
    try send(method, target, key: key, body: body)
    return try receive()
  }

  /// Whether bytes or the end of the connection have arrived.
  var hasInput: Bool {
    var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return !received.isEmpty || poll(&waited, 1, 0) > 0
  }

  /// The length of the head, if it has arrived.
  private var headEnd: Int? {
    let mark: [UInt8] = [13, 10, 13, 10]
    return received.indices.dropLast(3).first { received[$0...].starts(with: mark) }.map { $0 + 4 }
  }

  private func receiveMore() throws {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else {
      throw count < 0 && errno == EAGAIN ? End.silent : End.closed
    }
    received += buffer[..<count]
  }
}
