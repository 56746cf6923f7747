import HostedModel
import Glibc
import HostedStoreAPI
import HostedStoreServer
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Start and stop of an API server", .waiting, .timeLimit(.hang))
struct StopTests {
  @Test func `a stop completes running requests and accepts no others`() throws {
    let isReleased = Watched(false)
    let isRunning = Watched(false)
    let fixture = try APIFixture(handle: { request, respond in
      isRunning.change { $0 = true }
      isReleased.block { $0 }
      echo(request, respond)
    })
    let client = try fixture.client()
    client.request("POST", "/a", body: "body")
    isRunning.block { $0 }
    let idle = try fixture.client()
    let port = fixture.server.port
    let stop = fixture.beginStop()
    blockUntil { !Loopback.answers(on: Int(port)) }
    isReleased.change { $0 = true }
    let response = try client.response()
    #expect(response.body == "POST /a body")
    #expect(client.end() == .closed)
    stop.wait()
    #expect(idle.end() != .silence)
  }

  @Test func `requests that wait for events are answered when a stop begins`() throws {
    let waiting = WaitingRequests()
    let fixture = try APIFixture(
      { $0.onStop = { waiting.respondToAll("nothing new") } }, handle: waiting.handler)
    let client = try fixture.client()
    client.request("GET", "/poll")
    waiting.block(until: 1)
    fixture.server.stop()
    let response = try client.response()
    #expect(response.body == "nothing new")
    #expect(response.headers["connection"] == "close")
  }

  @Test func `a stop waits for a limited time, and later responses are ignored`() throws {
    let waiting = WaitingRequests()
    let fixture = try APIFixture({ $0.stopTimeout = .zero }, handle: waiting.handler)
    let clients = try (0..<2).map { number in
      let client = try fixture.client()
      client.request("GET", "/\(number)")
      return client
    }
    waiting.block(until: 2)
    fixture.server.stop()
    for client in clients { #expect(client.end() != .silence) }
    #expect(fixture.handled.value.map(\.status) == [nil, nil])
    let stream = AddedStream()
    waiting.respond(to: "/0", "late")
    waiting.respond(to: "/1", stream.response)
    #expect(stream.state.value.isCancelled)
  }

  @Test func `a second stop waits for the first`() throws {
    let waiting = WaitingRequests()
    let isStopping = Watched(false)
    let fixture = try APIFixture(
      { $0.onStop = { isStopping.change { $0 = true } } }, handle: waiting.handler)
    let client = try fixture.client()
    client.request("GET", "/slow")
    waiting.block(until: 1)
    let first = fixture.beginStop()
    isStopping.block { $0 }
    let second = fixture.beginStop()
    #expect(second.isWaiting())
    waiting.respond(to: "/slow", "done")
    let response = try client.response()
    #expect(response.body == "done")
    first.wait()
    second.wait()
  }

  @Test func `what requests wait for is ended after this time, and they are answered`() throws {
    let waiting = WaitingRequests()
    let fixture = try APIFixture(
      {
        $0.stopTimeout = .zero
        $0.onStopTimeout = { waiting.respondToAll("ended") }
      }, handle: waiting.handler)
    let client = try fixture.client()
    client.request("GET", "/slow")
    waiting.block(until: 1)
    fixture.server.stop()
    let response = try client.response()
    #expect(response.body == "ended")
    #expect(response.headers["connection"] == "close")
  }

  @Test func `a server can be stopped at any time during many requests`() throws {
    let fixture = try APIFixture { $0.stopTimeout = .zero }
    for round in 1...20 {
      if round > 1 { try fixture.server.start() }
      let clients = try (0..<8).map { _ in try fixture.client() }
      for client in clients {
        client.send(String(repeating: APIClient.text("GET", "/"), count: round))
      }
      fixture.server.stop()
      for client in clients { #expect(client.end() != .silence) }
    }
  }

  @Test func `a restarted server has the same port`() throws {
    let fixture = try APIFixture()
    let port = fixture.server.port
    let client = try fixture.client()
    #expect(try client.get("/").status == 200)
    fixture.server.stop()
    fixture.server.stop()
    #expect(client.end() != .silence)
    #expect(throws: APIClient.End.refused) { try fixture.client() }
    try fixture.server.start()
    try fixture.server.start()
    #expect(fixture.server.port == port)
    #expect(fixture.server.url == "http://127.0.0.1:\(port)/")
    #expect(try fixture.client().get("/").status == 200)
  }

  @Test func `a port in use has its own error`() throws {
    let fixture = try APIFixture()
    let failure = #expect(throws: ContentError.self) {
      try APIFixture { [port = fixture.server.port] in
        $0.openPort = { try HeldPort("127.0.0.1", port) }
      }
    }
    #expect(failure?.code == .cannotListen)
  }

  @Test func `an inherited socket is used, and stays open after a stop`() throws {
    let (socket, port) = try Loopback.listen()
    defer { close(socket) }
    let fixture = try APIFixture {
      $0.openPort = { try HeldPort(inherited: socket, at: "127.0.0.1") }
    }
    for _ in 0..<2 {
      #expect(Int(fixture.server.port) == port)
      #expect(try fixture.client().get("/").status == 200)
      fixture.server.stop()
      try fixture.server.start()
    }
  }

  @Test func `a descriptor that is not a TCP socket is refused`() throws {
    let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    let failure = #expect(throws: ContentError.self) {
      try APIFixture { $0.openPort = { try HeldPort(inherited: file, at: "127.0.0.1") } }
    }
    #expect(failure?.code == .cannotListen)
  }

  @Test func `the socket of systemd is only for the process that it names`() throws {
    let socket = { (environment: [String: String]) in
      try SocketActivation.socket(environment, process: 7)
    }
    #expect(try socket([:]) == nil)
    #expect(try socket(["LISTEN_PID": "7", "LISTEN_FDS": "1"]) == 3)
    #expect(try socket(["LISTEN_PID": "8", "LISTEN_FDS": "1"]) == nil)
    #expect(try socket(["LISTEN_FDS": "1"]) == nil)
    #expect(try socket(["LISTEN_PID": "7", "LISTEN_FDS": "0"]) == nil)
    #expect(try socket(["LISTEN_PID": "7", "LISTEN_FDS": "x"]) == nil)
    #expect(throws: ContentError.self) { try socket(["LISTEN_PID": "7", "LISTEN_FDS": "2"]) }
  }
}
