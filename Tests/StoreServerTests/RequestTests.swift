import HostedHTTPValues
import HostedStoreAPI
import HostedStoreServer
import HostedFileServer
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Requests to an API server", .waiting, .timeLimit(.hang))
struct RequestTests {
  @Test func `a connection serves several requests with and without a body`() throws {
    let fixture = try APIFixture()
    let client = try fixture.client()
    client.request("POST", "/a?b=c", body: String(repeating: "x", count: 60_000))
    let first = try client.response()
    #expect(first.status == 200)
    #expect(first.body == "POST /a " + String(repeating: "x", count: 60_000))
    #expect(first.headers["content-type"] == "text/plain")
    #expect(first.headers["date"]?.hasSuffix(" GMT") == true)
    #expect(first.headers["server"] == nil)
    let head = try client.get("/b", "HEAD")
    #expect(head.headers["content-length"] == "8", "the length of “HEAD /b ”")
    #expect(try client.get("/c").body == "GET /c ")
  }

  @Test func `requests that are sent at once are answered in order`() throws {
    let client = try APIFixture().client()
    client.send((0..<200).map { APIClient.text("POST", "/\($0)", body: "\($0)") }.joined())
    for number in 0..<200 { #expect(try client.response().body == "POST /\(number) \(number)") }
  }

  @Test func `a request may arrive byte by byte`() throws {
    let client = try APIFixture().client()
    for scalar in APIClient.text("POST", "/a", body: "body").unicodeScalars {
      client.send(String(scalar))
    }
    #expect(try client.response().body == "POST /a body")
  }

  @Test func `a client may wait for 100 Continue`() throws {
    let client = try APIFixture().client()
    client.request("POST", "/a", "Expect: 100-continue", "Content-Length: 4")
    #expect(try client.head().status == 100)
    client.send("body")
    #expect(try client.response().body == "POST /a body")
  }

  @Test func `a chunked body is complete, and the connection closes`() throws {
    let client = try APIFixture().client()
    client.request("POST", "/a", "Transfer-Encoding: chunked")
    client.send("2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n" + APIClient.text("GET", "/hidden"))
    #expect(try client.response().body == "POST /a body")
    #expect(client.end() == .closed)
  }

  @Test(arguments: [
    ("/\(String(repeating: "a", count: 3_000))", 0, 200), ("/", 6_500, 200),
    ("/", 7_200, 431), ("/", 7_400, 431), ("/", 9_000, 431), ("/", 20_000, 431),
    ("/\(String(repeating: "a", count: 4_000))", 0, 431),
    ("/\(String(repeating: "a", count: 9_000))", 0, 414),
    ("/?\(String(repeating: "id=com.example.a&", count: 180))", 0, 200),
  ])
  func `a head that is too long is refused`(target: String, size: Int, status: Int) throws {
    let fixture = try APIFixture()
    let client = try fixture.client()
    client.request("GET", target, "X: \(String(repeating: "x", count: size))")
    let response = try client.response()
    #expect(response.status == status)
    #expect(response.isProblem == (status != 200))
    #expect(try fixture.client().get("/").status == 200)
  }

  @Test func `a body that is too long is refused before it is sent`() throws {
    let fixture = try APIFixture { $0.bodyLimit = 8 }
    for lines in [["Content-Length: 9"], ["Content-Length: 9", "Expect: 100-continue"]] {
      let client = try fixture.client()
      client.send(APIClient.text("POST", "/", lines))
      let response = try client.response()
      #expect(response.status == 413 && response.isProblem)
      #expect(client.end() == .closed)
    }
  }

  @Test func `a client that has sent too long a body receives the refusal`() throws {
    let fixture = try APIFixture()
    let body = String(repeating: "x", count: 70_000)
    for chunked in [false, true] {
      let client = try fixture.client()
      let lines = chunked ? ["Transfer-Encoding: chunked"] : ["Content-Length: 70000"]
      client.send(
        APIClient.text("POST", "/", lines) + (chunked ? "11170\r\n\(body)\r\n0\r\n\r\n" : body))
      #expect(try client.response().status == 413)
    }
    #expect(try fixture.client().get("/").status == 200)
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello",
    "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX Y: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /a%00b HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
  ])
  func `a malformed request is refused, and the connection closes`(text: String) throws {
    let fixture = try APIFixture()
    let client = try fixture.client()
    client.send(text + APIClient.text("GET", "/hidden"))
    let response = try client.response()
    #expect(response.status == 400 && response.isProblem)
    #expect(response.headers["connection"] == "close")
    #expect(client.end() != .silence)
    #expect(!fixture.handled.value.contains { $0.path == "/hidden" })
  }

  /// These do not reach the server's own checks.
  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400), ("GET /\r\nHost: x\r\n\r\n", 400),
    ("GET / FOO\r\nHost: x\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", 400),
  ])
  func `a request that libmicrohttpd refuses gets a problem, too`(text: String, status: Int) throws
  {
    let fixture = try APIFixture()
    let client = try fixture.client()
    client.send(text)
    let response = try client.response()
    #expect(response.status == status && response.isProblem, "\(response)")
    #expect(client.end() != .silence)
    #expect(try fixture.client().get("/").status == 200)
  }

  @Test(.slow) func `slow clients are disconnected, and do not delay others`() throws {
    let fixture = try APIFixture { $0.limits.requestTimeout = .seconds(2) }
    let slow = try (0..<100).map { number in
      let client = try fixture.client()
      client.send(
        number.isMultiple(of: 2)
          ? "GET / HTTP/1.1\r\nHost: x" : "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
      return client
    }
    #expect(try fixture.client().get("/").status == 200)
    for client in slow { #expect(client.end() != .silence) }
  }

  @Test(.slow) func `clients that do not read are disconnected, and do not delay others`() throws {
    let fixture = try APIFixture(
      {
        $0.limits.requestTimeout = .seconds(1)
        $0.responseTimeout = .seconds(1)
        $0.limits.idleSeconds = 3_600
      },
      handle: { request, respond in
        // More than the buffers of both sockets.
        let isLong = request.path == "/long"
        respond(HTTPResponse<APIBody>(200, [UInt8](repeating: 0, count: isLong ? 32 << 20 : 1)))
      })
    let silent = try (0..<2).map { _ in
      let client = try fixture.client()
      client.request("GET", "/long")
      return client
    }
    #expect(try fixture.client().get("/").status == 200)
    fixture.handled.block { requests in requests.count { $0.path == "/long" } == 2 }
    #expect(silent.count == 2)
  }

  @Test func `connections beyond the limit are closed`() throws {
    let fixture = try APIFixture { $0.limits.connections = 2 }
    let clients = try (0..<2).map { _ in try fixture.client() }
    for client in clients { #expect(try client.get("/").status == 200) }
    #expect(try fixture.client().end() != .silence)
    for client in clients { #expect(try client.get("/").status == 200) }
  }

  @Test func `many connections from loopback are allowed`() throws {
    let fixture = try APIFixture { $0.limits.connectionsPerAddress = 1 }
    let clients = try (0..<10).map { _ in try fixture.client() }
    for client in clients { #expect(try client.get("/").status == 200) }
  }

  @Test func `responses may come in any order and from any thread, and only the first counts`()
    throws
  {
    let waiting = WaitingRequests()
    // More requests than workers.
    let fixture = try APIFixture({ $0.workers = 2 }, handle: waiting.handler)
    let clients = try (0..<20).map { number in
      let client = try fixture.client()
      client.request("GET", "/\(number)")
      return client
    }
    waiting.block(until: 20)
    for number in (0..<20).reversed() {
      waiting.respond(to: "/\(number)", "\(number)")
      waiting.respond(to: "/\(number)", "again")
      #expect(try clients[number].response().body == "\(number)")
      waiting.respond(to: "/\(number)", "late")
    }
    clients[0].request("GET", "/next")
    waiting.block(until: 21)
    waiting.respond(to: "/next", "next")
    #expect(try clients[0].response().body == "next")
  }

  @Test func `the health is answered while all threads are busy`() throws {
    let isReleased = Watched(false)
    let fixture = try APIFixture(
      {
        $0.workers = 1
        $0.respondAtOnce = { $0.path == "/healthz" ? HTTPResponse<APIBody>(200) : nil }
      },
      handle: { request, respond in
        isReleased.block { $0 }
        echo(request, respond)
      })
    defer { isReleased.change { $0 = true } }
    let busy = try fixture.client()
    busy.request("GET", "/busy")
    let client = try fixture.client()
    for method in ["GET", "HEAD", "GET"] {
      #expect(try client.get("/healthz", method).status == 200)
    }
    isReleased.change { $0 = true }
    #expect(try busy.response().body == "GET /busy ")
  }

  @Test func `a client may leave while its request waits`() throws {
    let waiting = WaitingRequests()
    let fixture = try APIFixture(handle: waiting.handler)
    let stream = AddedStream()
    for path in ["/a", "/b"] {
      let client = try fixture.client()
      client.request("GET", path)
      waiting.block(until: path == "/a" ? 1 : 2)
      client.leave()
    }
    waiting.respond(to: "/a", "a")
    waiting.respond(to: "/b", stream.response)
    // The end of a suspended connection is noticed when something is sent, such as a heartbeat.
    blockUntil {
      stream.add([UInt8(ascii: ":")])
      return stream.state.value.isCancelled
    }
    fixture.handled.block { $0.count == 2 }
    let client = try fixture.client()
    client.request("GET", "/c")
    waiting.block(until: 3)
    waiting.respond(to: "/c", "c")
    #expect(try client.response().body == "c")
  }

  @Test func `a request is reported without its secrets`() throws {
    let fixture = try APIFixture()
    let client = try fixture.client()
    client.request("POST", "/a%0Ab?grant=secret", "Authorization: Bearer secret", body: "secret")
    _ = try client.response()
    fixture.handled.block { $0.count == 1 }
    client.request("GET", "/%?grant=secret")
    _ = try client.response()
    fixture.handled.block { $0.count == 2 }
    let requests = fixture.handled.value
    #expect(requests.map(\.method) == ["POST", "GET"])
    #expect(requests.map(\.path) == ["/a b", "-"])
    #expect(requests.map(\.status) == [200, 400])
    #expect(!"\(requests)".contains("secret"))
  }
}
