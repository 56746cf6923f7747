import HostedModel
import HostedFileIO
import Glibc

/// Buys at a store server and measures it.
///
/// `HostedSalesBenchmark HOST-PORT TOKEN-FILE PRODUCT CONNECTIONS SECONDS [RATE]`. Without a rate,
/// each connection sends the next request when it has a response. With one, requests start on a
/// schedule, and their latency counts from then, so that a slow server cannot hide it by delays.
@main
enum SalesBenchmark {
  static func main() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count >= 5, let count = Int(words[3]), let seconds = Double(words[4]) else {
      print(
        "Usage: HostedSalesBenchmark 127.0.0.1:PORT TOKEN-FILE PRODUCT CONNECTIONS SECONDS [RATE]")
      exit(2)
    }
    signal(SIGPIPE, SIG_IGN)
    let token = try FileSystem.real.file(at: words[1]).contents(limit: 4096)
    let buyer = Buyer(
      host: words[0],
      token: String(decoding: token, as: UTF8.self).filter { !$0.isWhitespace }, product: words[2])
    let connections = try (0..<count).map { _ in try Connection(to: words[0]) }
    var run = Run(
      buyer: buyer, connections: connections, seconds: seconds,
      rate: words.count > 5 ? Double(words[5]) : nil)
    run.go()
    run.report()
  }
}

/// Creates requests.
private struct Buyer {
  let host: String
  let token: String
  let product: String
  private var number = 0
  private let run = randomIdentifier()

  init(host: String, token: String, product: String) {
    self.host = host
    self.token = token
    self.product = product
  }

  mutating func request() -> [UInt8] {
    number += 1
    let body = #"{"productIdentifier":"\#(product)","account":"account-\#(number % 1000)"}"#
    return Array(
      ("POST /v1/purchases HTTP/1.1\r\nHost: \(host)\r\nAuthorization: Bearer \(token)\r\n"
        + "Idempotency-Key: \(run)-\(number)\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8)
  }
}

/// A connection with at most one request in progress.
private final class Connection {
  let descriptor: Int32
  private var received: [UInt8] = []
  /// When the request in progress was due; nil while no request is in progress.
  var due: ContinuousClock.Instant?

  init(to address: String) throws {
    let parts = address.split(separator: ":")
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = (UInt16(parts.last ?? "") ?? 0).bigEndian
    inet_pton(AF_INET, String(parts.first ?? ""), &place.sin_addr)
    let result = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    var one: Int32 = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    guard result == 0 else { throw ContentError(errno: errno, .open, address) }
  }

  /// Sends a request; a failure is found by `receive`.
  func send(_ request: [UInt8]) {
    _ = Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
  }

  /// Reads; returns the status of a complete response, 0 if it is incomplete, or nil at the end.
  func receive() -> Int? {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return nil }
    received += buffer[..<count]
    guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return 0 }
    let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
    let lengthLine = head.split(separator: "\r\n").first {
      $0.lowercased().hasPrefix("content-length:")
    }
    let length = lengthLine.flatMap { Int($0.dropFirst(15).filter { $0 != " " }) } ?? 0
    guard received.count >= head.utf8.count + 4 + length else { return 0 }
    received = []
    return Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
  }
}

private struct Run {
  var buyer: Buyer
  /// The connections that the server has not closed.
  var connections: [Connection]
  let seconds: Double
  let rate: Double?
  private var latencies: [Double] = []
  private var failures: [Int: Int] = [:]
  private var elapsed = 0.0

  init(buyer: Buyer, connections: [Connection], seconds: Double, rate: Double?) {
    self.buyer = buyer
    self.connections = connections
    self.seconds = seconds
    self.rate = rate
  }

  mutating func go() {
    let clock = ContinuousClock()
    let start = clock.now
    let end = start + .seconds(seconds)
    var sent = 0
    while clock.now < end {
      let now = clock.now
      for connection in connections where connection.due == nil {
        guard let rate else {
          begin(on: connection, due: now)
          continue
        }
        let due = start + .seconds(Double(sent) / rate)
        guard due <= now else { break }
        sent += 1
        begin(on: connection, due: due)
      }
      var waited = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      guard poll(&waited, nfds_t(waited.count), 1) > 0 else { continue }
      for (connection, found) in zip(connections, waited) where found.revents != 0 {
        complete(connection, at: clock.now)
      }
    }
    elapsed = (clock.now - start).inSeconds
  }

  private mutating func begin(on connection: Connection, due: ContinuousClock.Instant) {
    connection.due = due
    connection.send(buyer.request())
  }

  private mutating func complete(_ connection: Connection, at now: ContinuousClock.Instant) {
    guard let status = connection.receive() else {
      connections.removeAll { $0 === connection }
      // A server also closes connections without a request. That is not a failure.
      if connection.due != nil { failures[-1, default: 0] += 1 }
      return
    }
    guard status != 0, let due = connection.due else { return }
    connection.due = nil
    if status == 201 {
      latencies.append((now - due).inSeconds)
    } else {
      failures[status, default: 0] += 1
    }
  }

  func report() {
    let sorted = latencies.sorted()
    func share(_ part: Double) -> String {
      guard let last = sorted.indices.last else { return "-" }
      let value = sorted[min(last, Int(Double(sorted.count) * part))] * 1000
      return "\((value * 100).rounded() / 100)"
    }
    print(
      "\(sorted.count) purchases in \((elapsed * 10).rounded() / 10) s,",
      "\(Int(Double(sorted.count) / elapsed)) per second, \(connections.count) connections;",
      "ms: median \(share(0.5)), 99 % \(share(0.99)), maximum \(share(1));",
      "failures: \(failures.isEmpty ? "none" : "\(failures)")")
  }
}
