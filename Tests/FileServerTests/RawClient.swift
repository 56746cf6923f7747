import HostedTestSupport

/// A client that sends bytes and keeps all bytes that it receives.
final class RawClient {
  private let socket: ClientSocket
  /// The bytes received so far.
  private(set) var bytes: [UInt8] = []
  /// How the connection ended; nil while it is open.
  private(set) var end: ClientSocket.End?

  /// Connects to a server on this machine, from `address` if given.
  init(port: UInt16, from address: UInt32? = nil) throws {
    socket = try ClientSocket(port: port, from: address)
  }

  func send(_ text: String) { socket.send(Array(text.utf8)) }

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
    do {
      bytes += try socket.receive()
      return true
    } catch {
      end = error
      return false
    }
  }

  /// Whether data or the end arrives within this time.
  func hasInput(within milliseconds: Int32) -> Bool { socket.hasInput(within: milliseconds) }

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
  func leave() { socket.leave() }

  /// Closes the sending direction.
  func half() { socket.half() }

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
