import HostedHTTPValues
import HostedModel
import Dispatch
import HostedFileIO
import HostedConcurrency
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Server lifecycle")
struct ServerLifeTests {
  @Test("Many servers run at the same time, each with its own faults")
  func many() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...8 {
        group.addTask {
          let fixture = try ServerFixture("* cut \(number)")
          for _ in 1...5 { #expect(try fixture.get().body.count == number) }
          fixture.server.stop()
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("Stopping ends open connections, and a restarted server has the same port")
  func stop() throws {
    let fixture = try ServerFixture("* stall 10\n/metadata/* latency 1000s")
    let port = fixture.server.port
    let clients = try ["/targets/file.bin", "/metadata/timestamp.json"].map { target in
      let client = try fixture.client()
      client.request("GET", target)
      return client
    }
    clients[0].receive(body: 10)
    let idle = try fixture.client()
    fixture.server.stop()
    fixture.server.stop()
    for client in clients + [idle] {
      _ = client.receiveAll()
      #expect(client.end != .silence)
    }
    #expect(throws: (any Error).self) { try fixture.client() }
    // Another socket cannot take its port in the meantime.
    #expect(throws: ContentError.self) { try ServerFixture { $0.port = port } }

    try fixture.server.setFaults(.none)
    try fixture.server.start()
    try fixture.server.start()
    #expect(fixture.server.port == port)
    #expect(try fixture.get().body == ServerFixture.file)
  }

  @Test("No other socket can bind the port while the server restarts")
  func port() throws {
    let fixture = try ServerFixture()
    let port = fixture.server.port
    let thief = Mutex((tries: 0, taken: false, ended: false))
    let thread = DispatchGroup()
    DispatchQueue(label: "thief").async(group: thread) {
      while !thief.withLock({ $0.ended }) {
        let taken = Loopback.canBind(port)
        thief.withLock { $0 = ($0.tries + 1, $0.taken || taken, $0.ended) }
      }
    }
    defer {
      thief.withLock { $0.ended = true }
      thread.wait()
    }
    // Both at the same time, even if the thread starts late.
    while thief.withLock({ $0.tries }) < 1000 {
      fixture.server.stop()
      try fixture.server.start()
    }
    #expect(thief.withLock { !$0.taken })
  }

  @Test("Connections beyond the limit are closed, others are served")
  func limit() throws {
    let fixture = try ServerFixture("/targets/* stall 10") { $0.limits.connections = 2 }
    let busy = try (1...2).map { _ in try fixture.client(receiving: 10) }
    let further = try fixture.get("/metadata/timestamp.json")
    #expect(further.bytes == [])
    #expect(further.end != .silence)
    #expect(busy.map { $0.body.count } == [10, 10])
  }

  @Test("A port in use, a missing folder and an unknown address have their own errors")
  func failures() throws {
    let fixture = try ServerFixture()
    var configuration = FileServer.Configuration()
    configuration.port = fixture.server.port
    let second = try FileServer(folder: fixture.folder.path, configuration: configuration)
    #expect(#expect(throws: ContentError.self) { try second.start() }?.code == .cannotListen)
    configuration.address = "256.0.0.1"
    let third = try FileServer(folder: fixture.folder.path, configuration: configuration)
    #expect(#expect(throws: ContentError.self) { try third.start() }?.code == .cannotListen)
    let missing = #expect(throws: ContentError.self) {
      try FileServer(folder: fixture.folder.path("nothing"))
    }
    #expect(missing?.code == .fileMissing)
  }

  @Test("The log has the requests, can be cleared, and can be disabled")
  func log() throws {
    let fixture = try ServerFixture()
    _ = try fixture.get("/targets/file.bin?x", "Authorization: secret", method: "HEAD")
    let served = try #require(fixture.server.requests.first)
    #expect(served.method == "HEAD")
    #expect(served.path == "/targets/file.bin")
    #expect(served.request.target == "/targets/file.bin?x")
    #expect(served.request.headers["authorization"] == "secret")
    #expect(served.status == 200 && served.bytesSent == 0 && served.faults == [])
    fixture.server.clearRequests()
    #expect(fixture.server.requests.isEmpty)

    let silent = try ServerFixture { $0.recording = .none }
    #expect(try silent.get().body == ServerFixture.file, "with sendfile")
    #expect(
      try silent.get("/targets/file.bin", "Range: bytes=5-9").body
        == Array(ServerFixture.file[5..<10]))
    #expect(silent.server.requests.isEmpty)
  }

  @Test("A line of the log has five fields, even for hostile requests")
  func logLine() throws {
    let fixture = try ServerFixture()
    _ = try fixture.get("/a\u{202e}b\u{2028}c", "Range: bytes=0-\u{85} 200 5\u{200b}")
    let served = try #require(fixture.server.requests.first)
    let range = "bytes=0-\u{fffd}\u{fffd}200\u{fffd}5\u{fffd}"
    #expect(served.line == "GET /a\u{fffd}b\u{fffd}c \(range) 404 11")
    #expect(served.request.target == "/a\u{202e}b\u{2028}c", "it is kept unchanged")
    // A space before a combining mark is another `Character`.
    _ = try fixture.get("/d", "Range: x \u{301}y")
    #expect(fixture.server.requests.last?.line == "GET /d x\u{fffd}\u{301}y 404 11")
  }

  @Test("A large file is complete, with sendfile and through memory", .slow)
  func large() throws {
    for records in [false, true] {
      let fixture = try ServerFixture { $0.recording = records ? .kept : .none }
      var generator = SplitMix(state: 7)
      let bytes = generator.bytes(3_200_000)
      let targets = try fixture.folder.directory.directory(at: ["store", "targets"])
      try targets.replaceFile("large", with: bytes)
      let got = try fixture.get("/targets/large", "Range: bytes=1-")
      #expect(got.body == Array(bytes[1...]))
      #expect(got.header("Content-Range") == "bytes 1-\(bytes.count - 1)/\(bytes.count)")
    }
  }

  @Test("A malformed or oversized head is refused, and the server keeps running")
  func badHeads() throws {
    let fixture = try ServerFixture()
    for head in [
      "GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
      "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n",
      "GET /\(String(repeating: "x", count: 100_000)) HTTP/1.1\r\n\r\n",
    ] {
      let client = try fixture.client()
      client.send(head)
      client.half()
      let status = client.receiveAll().status
      #expect(status == nil || (400...599).contains(status ?? 0), "\(head.prefix(20))")
      #expect(client.end != .silence)
    }
    #expect(try fixture.get().status == 200)
  }
}
