import HostedModel
import HostedFileIO
import Glibc
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Slow clients")
struct SlowClientTests {
  @Test(
    "A connection without a complete request in time is closed, even if it keeps sending", .slow)
  func slowHead() throws {
    let fixture = try ServerFixture { $0.limits.requestTimeout = .milliseconds(200) }
    for start in ["", "\r\n", "GET /targets/file.bin HTTP/1.1\r\nHost: x\r\nX: "] {
      let client = try fixture.client()
      client.send(start)
      #expect(client.drip("x"), "“\(start)”")
    }
    let body = try fixture.client()
    body.request("POST", "/targets/file.bin", ["Content-Length: 60000"])
    #expect(body.drip("x"), "a slow body")
    #expect(try fixture.get().status == 200)
  }

  @Test("Silent connections block others only until the request timeout")
  func silence() throws {
    let fixture = try ServerFixture {
      $0.limits.connections = 4
      $0.limits.requestTimeout = .milliseconds(200)
    }
    let silent = try (1...4).map { _ in try fixture.client() }
    for client in silent { #expect(client.receiveAll().end == .closed) }
    #expect(try fixture.getWhenFree().status == 200)
  }

  @Test("An idle connection is closed after a response without another request", .slow)
  func idle() throws {
    let fixture = try ServerFixture {
      $0.limits.requestTimeout = .milliseconds(100)
      $0.limits.idleSeconds = 1
    }
    let client = try fixture.client()
    client.request("GET", "/targets/empty", keep: true)
    try #require(client.receive())
    #expect(!client.hasInput(within: 150), "the first request's timeout no longer applies")
    client.request("GET", "/targets/empty", keep: true)
    try #require(client.receive())
    #expect(client.drip("\r\n"))
  }

  @Test("A response may take longer than the request timeout", .slow)
  func slowAnswer() throws {
    let fixture = try ServerFixture("* latency 400ms\n*.bin drip 500 400ms") {
      $0.limits.requestTimeout = .milliseconds(100)
    }
    #expect(try fixture.get().body == ServerFixture.file)
  }

  @Test("A connection without a TLS handshake is closed")
  func handshake() throws {
    let folder = try TemporaryFolder()
    let paths = try TestCertificate.right.write(to: folder)
    let fixture = try ServerFixture {
      $0.certificate = Certificate(chain: paths.chain, key: paths.key)
      $0.limits.requestTimeout = .milliseconds(200)
    }
    #expect(try fixture.client().receiveAll().end == .closed)
  }

  @Test("Connections per address are limited, and other addresses are served")
  func perAddress() throws {
    let fixture = try ServerFixture("/targets/* stall 10") { $0.limits.connectionsPerAddress = 2 }
    let busy = try (1...2).map { _ in try fixture.client(receiving: 10) }
    let further = try fixture.get("/metadata/timestamp.json")
    #expect(further.bytes == [])
    #expect(further.end != .silence)
    let other = try RawClient(port: fixture.server.port, from: Loopback.address + 1)
    other.request("GET", "/metadata/timestamp.json")
    #expect(other.receiveAll().status == 200)
    busy[0].leave()
    #expect(try fixture.getWhenFree("/metadata/timestamp.json").status == 200)
  }

  @Test("Without a limit, one address can have all connections")
  func unlimited() throws {
    let fixture = try ServerFixture("/targets/* stall 10") {
      $0.limits.connectionsPerAddress = 0
      $0.limits.connections = 200
    }
    let busy = try (1...150).map { _ in try fixture.client(receiving: 10) }
    #expect(busy.allSatisfy { $0.body.count == 10 })
  }
}

extension RawClient {
  /// Sends `text` repeatedly with pauses.
  ///
  /// Returns whether the server closed the connection.
  fileprivate func drip(_ text: String) -> Bool {
    for _ in 0..<200 {
      if hasInput(within: 20) { return receiveAll().end != .silence }
      send(text)
    }
    return false
  }
}

extension ServerFixture {
  /// Retries a request until a connection is available.
  fileprivate func getWhenFree(_ target: String = "/targets/file.bin") throws -> RawClient {
    var got = try get(target)
    while got.status == nil, got.end != .silence { got = try get(target) }
    return got
  }
}
