import Foundation
import Glibc
import HostedConcurrency

/// A web server on a free loopback port whose answers a test determines.
///
/// It only parses requests. The bytes that a closure returns are sent unchanged, so invalid answers
/// are possible. Each connection has a thread.
package final class ScriptedServer: Sendable {
  /// A received request.
  package struct Request: Sendable {
    /// The request line and headers.
    package let head: String
    /// The number of the request at this server, from 1.
    package fileprivate(set) var number = 0
    /// The number of its connection, from 1.
    package let connection: Int
    /// The body.
    package fileprivate(set) var body: [UInt8] = []

    fileprivate init(_ head: String, _ connection: Int) {
      self.head = head
      self.connection = connection
    }

    /// The method in the request line.
    package var method: String { String(head.prefix { $0 != " " }) }

    /// The path in the request line.
    package var path: String { head.split(separator: " ").dropFirst().first.map(String.init) ?? "" }

    /// Returns the value of a header, or nil if it is missing.
    package func header(_ name: String) -> String? {
      for line in head.split(separator: "\r\n").dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.count == 2, parts[0].lowercased() == name.lowercased() {
          return parts[1].trimmingCharacters(in: .whitespaces)
        }
      }
      return nil
    }

    /// The bounds in a `Range` header with a single range.
    package var range: ClosedRange<Int>? {
      let bounds = header("range")?.dropFirst("bytes=".count).split(separator: "-").map { Int($0) }
      guard let bounds, bounds.count == 2, let first = bounds[0], let last = bounds[1],
        first <= last
      else { return nil }
      return first...last
    }
  }

  /// The bytes of an answer, and what happens then.
  package struct Answer: Sendable {
    package var bytes: [UInt8]
    package var then: Ending
    /// The seconds before the first byte.
    package var delay = 0.0

    package enum Ending: Sendable {
      /// The connection accepts another request.
      case keep
      /// The connection is closed.
      case close
      /// The connection is reset.
      case reset
      /// The connection stays open without more bytes while the server exists.
      case hang
      /// These bytes follow again and again, at intervals in seconds, until the client closes.
      case drip([UInt8], every: Double)
    }

    package init(_ bytes: [UInt8], then: Ending = .keep) {
      self.bytes = bytes
      self.then = then
    }

    /// Returns an answer with `status`, `headers` and a Content-Length, unless `length` is nil.
    package static func http(
      _ status: String, _ headers: [String] = [], body: [UInt8] = [], length: Int?? = .none,
      then: Ending = .keep
    ) -> Answer {
      var lines = ["HTTP/1.1 \(status)"] + headers
      if let length = length ?? body.count { lines.append("Content-Length: \(length)") }
      let head = lines.joined(separator: "\r\n") + "\r\n\r\n"
      return Answer(Array(head.utf8) + body, then: then)
    }

    /// Returns the answer of a server with ranges for the file `bytes`.
    package static func file(_ bytes: [UInt8], _ request: Request, headers: [String] = []) -> Answer
    {
      guard let range = request.range else { return .http("200 OK", headers, body: bytes) }
      guard range.lowerBound < bytes.count else {
        return .http("416 Range Not Satisfiable", ["Content-Range: bytes */\(bytes.count)"])
      }
      let part = range.clamped(to: 0...(bytes.count - 1))
      return .http(
        "206 Partial Content",
        headers + ["Content-Range: bytes \(part.lowerBound)-\(part.upperBound)/\(bytes.count)"],
        body: Array(bytes[part]))
    }
  }

  /// The port on 127.0.0.1.
  package let port: Int
  private let sockets = Sockets()
  private let state = Mutex(State())
  private let answer: @Sendable (Request) -> Answer

  private struct State {
    var requests: [Request] = []
    var accepted = 0
  }

  /// Starts a server on `port` of `address`.
  ///
  /// `answer` is called on the connection's thread.
  package init(
    at port: Int = 0, of address: UInt32 = Loopback.address,
    _ answer: @escaping @Sendable (Request) -> Answer
  ) throws {
    self.answer = answer
    let (listener, port) = try Loopback.listen(at: port, of: address)
    self.port = port
    let sockets = sockets
    sockets.add(listener)
    // The threads only retain the server while they answer, so that it can end.
    Thread.detachNewThread { [weak self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { break }
        sockets.add(connection)
        guard let self else { break }
        self.begin(connection)
      }
      sockets.close(listener)
    }
  }

  deinit { sockets.shutDown() }

  /// The requests so far.
  package var requests: [Request] { state.withLock { $0.requests } }

  /// Returns the URL of `path`, which starts with a slash.
  package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  private func begin(_ connection: Int32) {
    let number = state.withLock { state in
      state.accepted += 1
      return state.accepted
    }
    Thread.detachNewThread { [weak self, sockets] in
      while let head = Loopback.readHead(connection), self?.reply(head, number, connection) == true
      {
      }
      sockets.close(connection)
    }
  }

  /// Answers one request.
  ///
  /// Returns false if the connection ends.
  private func reply(_ head: String, _ connection: Int, _ socket: Int32) -> Bool {
    var received = Request(head, connection)
    let length = received.header("content-length").flatMap { Int($0) } ?? 0
    guard let body = Loopback.read(length, from: socket) else { return false }
    received.body = body
    let request = state.withLock { [received] state in
      state.requests.append(received)
      state.requests[state.requests.count - 1].number = state.requests.count
      return state.requests[state.requests.count - 1]
    }
    let answer = answer(request)
    if answer.delay > 0 { usleep(UInt32(answer.delay * 1e6)) }
    guard Loopback.send(answer.bytes, to: socket) else { return false }
    switch answer.then {
    case .keep: return true
    case .close: return false
    case .reset:
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
      return false
    // Reads until the client or the end of the server closes the connection.
    case .hang: return Loopback.readHead(socket) != nil && false
    case .drip(let bytes, let interval):
      while Loopback.send(bytes, to: socket) { usleep(UInt32(interval * 1e6)) }
      return false
    }
  }
}

/// Open sockets.
///
/// Closed ones are not shut down, since their number may be reused.
private final class Sockets: Sendable {
  private let state = Mutex<(open: Set<Int32>, isShutDown: Bool)>(([], false))

  func add(_ socket: Int32) {
    state.withLock { state in
      state.open.insert(socket)
      if state.isShutDown { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  func close(_ socket: Int32) {
    state.withLock { state in
      state.open.remove(socket)
      Glibc.close(socket)
    }
  }

  /// Ends all waits on them, now and later.
  func shutDown() {
    state.withLock { state in
      state.isShutDown = true
      for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }
}
