import ContentModel
import Glibc
import TestSupport
import Testing

/// A client that sends bytes and keeps all bytes that it receives.
final class RawClient {
  private let socket: Int32
  /// The bytes received so far.
  private(set) var bytes: [UInt8] = []
  /// How the connection ended; nil while it is open.
  private(set) var end: End?

  enum End: Hashable {
    case closed
    case reset
    /// Nothing arrived within the time limit of tests.
    case silence
  }

  /// Connects to a server on this machine, from `address` if given.
  init(port: UInt16, from address: String? = nil) throws {
    socket = try LocalSocket.connected(to: port, from: address)
  }

  deinit { close(socket) }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Sends a request with its headers.
  ///
  /// Asks to close the connection unless `keep`.
  func request(
    _ method: String = "GET", _ target: String, _ headers: [String] = [], keep: Bool = false
  ) {
    let lines =
      ["\(method) \(target) HTTP/1.1", "Host: test"] + (keep ? [] : ["Connection: close"]) + headers
    send(lines.joined(separator: "\r\n") + "\r\n\r\n")
  }

  /// Receives once.
  ///
  /// Returns false if the connection has ended.
  @discardableResult
  func receive() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(socket, &buffer, buffer.count, 0)
    if count > 0 {
      bytes += buffer[..<count]
      return true
    }
    end = count == 0 ? .closed : errno == ECONNRESET ? .reset : .silence
    return false
  }

  /// Whether data or the end arrives within this time.
  func hasNews(within milliseconds: Int32) -> Bool {
    var waited = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&waited, 1, milliseconds) > 0
  }

  /// Receives until the connection ends.
  func receiveAll() -> RawClient {
    while receive() {}
    return self
  }

  /// Receives until the body has `count` bytes.
  func receive(body count: Int) {
    while body.count < count, receive() {}
  }

  /// Closes the connection.
  func leave() { shutdown(socket, Int32(SHUT_RDWR)) }

  /// Closes the sending direction.
  func half() { shutdown(socket, Int32(SHUT_WR)) }

  // MARK: Received data

  private var headEnd: Int? {
    let mark = Array("\r\n\r\n".utf8)
    return bytes.indices.first { bytes[$0...].starts(with: mark) }
  }

  private var lines: [Substring] {
    String(decoding: bytes[..<(headEnd ?? 0)], as: UTF8.self).split(separator: "\r\n")
  }

  var status: Int? {
    lines.first.flatMap { line in
      let words = line.split(separator: " ")
      return line.hasPrefix("HTTP/1.1 ") && words.count > 1 ? Int(words[1]) : nil
    }
  }

  var body: [UInt8] { headEnd.map { Array(bytes[($0 + 4)...]) } ?? [] }

  func header(_ name: String) -> String? {
    lines.dropFirst().first { $0.lowercased().hasPrefix("\(name.lowercased()): ") }
      .map { String($0.dropFirst(name.count + 2)) }
  }
}

/// Sockets of clients on this machine.
enum LocalSocket {
  /// Returns a socket that is connected to `port`, with a receive timeout.
  static func connected(to port: UInt16, from address: String? = nil) throws -> Int32 {
    let socket = Loopback.stream()
    if let address {
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      own.sin_addr.s_addr = inet_addr(address)
      _ = withUnsafePointer(to: &own) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    guard Loopback.at(port, { connect(socket, $0, $1) }) == 0 else {
      let number = errno
      close(socket)
      throw ContentError(
        .cannotListen, "Cannot connect", remedy: "None", cause: String(cString: strerror(number)))
    }
    var timeout = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    return socket
  }

  /// Whether `port` can be bound without SO_REUSEADDR.
  ///
  /// Releases it at once.
  static func gets(_ port: UInt16) -> Bool {
    let socket = Loopback.stream()
    defer { close(socket) }
    return Loopback.at(port) { bind(socket, $0, $1) } == 0
  }
}
