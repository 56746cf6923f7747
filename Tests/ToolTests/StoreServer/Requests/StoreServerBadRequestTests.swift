import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

/// Complete requests that are wrong: each gets a typed problem, and others are served.
@Suite("Bad requests to a store server", .waiting, .timeLimit(.hang))
struct StoreServerBadRequestTests {
  private let fixture: RequestFixture

  init() throws { fixture = try RequestFixture() }

  private static let product = "\"productIdentifier\": \"\(Tool.chapter1)\""

  // MARK: Bodies

  @Test("A body that is not a purchase")
  func bodies() throws {
    let product = Self.product
    let deep = String(repeating: "[", count: 4_000)
    let closed = deep + String(repeating: "]", count: 4_000)
    for body in [
      "{", "[]", "null", "nul", "{\(product)}x", "{\(product), \(product)}",
      "{\(product), \"x\": 1e3}", "{\(product), \"x\": \(deep)}", "{\(product), \"x\": \(closed)}",
      "{\(product), \"account\": \"a\\u0000b\"}", "{\(product), \"account\": \"\\ud800\"}",
      "{\(product), \"quantity\": 99999999999999999999}",
    ] {
      try fixture.expectProblem([400], to: fixture.purchase("bad", body: body))
    }
    for byte in [0, 0x1f, 0xc0, 0xff] as [UInt8] {
      var body = Array("{\(product), \"account\": \"".utf8)
      body.append(byte)
      body += "\"}".utf8
      let head = fixture.purchase("bad", ["Content-Length: \(body.count)"], body: "")
      try fixture.expectProblem([400], to: Array(head.utf8) + body)
    }
    try fixture.expectProblem([415], to: fixture.purchase("bad", ["Content-Type: text/plain"]))
    for entries in ["", String(repeating: "{\(product)},", count: 64) + "{\(product)}"] {
      let body = "{\"purchases\": [\(entries)]}"
      try fixture.expectProblem([400], to: fixture.text("POST", "/v1/purchases:batch", body: body))
    }
    try fixture.expectNoEffect(of: "bad")
  }

  @Test("A body that is too long, or whose length is wrong")
  func lengths() throws {
    for count in [20_000, 70_000] {
      let body = "{\(Self.product), \"x\": \"\(String(repeating: "x", count: count))\"}"
      try fixture.expectProblem([413], to: fixture.purchase("bad", body: body))
      let chunk = "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
      let head = fixture.purchase("bad", ["Transfer-Encoding: chunked"], body: "")
      try fixture.expectProblem([413], to: head + chunk)
    }
    let lengths: [(lines: [String], statuses: Set<Int>)] = [
      (["Content-Length: 70000"], [413]), (["Content-Length: 999999999999999999"], [413]),
      (["Content-Length: 99999999999999999999999999"], [400, 413]),
      (["Content-Length: -1"], [400]), (["Content-Length: +5"], [400]),
      (["Content-Length: 0x5"], [400]), (["Content-Length: 5, 5"], [400]),
      (["Content-Length: five"], [400]), (["Content-Length: 5", "Content-Length: 6"], [400]),
      (["Content-Length: 5", "Content-Length: 5"], [400]),
      (["Content-Length: 5", "Transfer-Encoding: chunked"], [400]),
      (["Transfer-Encoding: gzip"], [400, 501]),
      (["Transfer-Encoding: gzip, chunked"], [400, 501]),
    ]
    for (lines, statuses) in lengths {
      try fixture.expectProblem(statuses, to: fixture.purchase("bad", lines, body: ""))
    }
    for chunks in [
      "zz\r\n", "-1\r\n", ";a\r\n", "fffffffffffffffffff\r\n", "5\r\nhelloXX0\r\n\r\n",
    ] {
      let head = fixture.purchase("bad", ["Transfer-Encoding: chunked"], body: "")
      try fixture.expectProblem([400, 413], to: head + chunks)
    }
    try fixture.expectNoEffect(of: "bad")
  }

  // MARK: Heads

  @Test("A head that is too long, or malformed")
  func heads() throws {
    for count in [7_500, 9_000, 20_000, 60_000] {
      let line = "X-Long: \(String(repeating: "x", count: count))"
      try fixture.expectProblem([431], to: fixture.text("GET", "/v1/products", [line]))
    }
    let many = (0..<10_000).map { "X-\($0): x" }
    try fixture.expectProblem([431], to: fixture.text("GET", "/v1/products", many))
    for count in [4_000, 9_000] {
      let target = "/v1/products?id=\(String(repeating: "x", count: count))"
      try fixture.expectProblem([414, 431], to: fixture.text("GET", target))
    }
    for line in [
      "X Y: a", "X-Without-Colon", ": a", "X\0Y: a", "X: a\0b", "X: a\u{1}b", "X: a\r\n b",
      "Host: b",
      "X: a\nY: b",
    ] {
      try fixture.expectProblem([400], to: fixture.purchase("bad", [line]))
    }
    for key in ["", "a b", "a,b c", String(repeating: "a", count: 129), "\u{e9}"] {
      try fixture.expectProblem([400], to: fixture.purchase(key))
    }
    try fixture.expectProblem([400], to: "GET /v1/products HTTP/1.1\r\n\r\n")
    try fixture.expectProblem([400, 505], to: "GET /v1/products HTTP/9.9\r\nHost: a\r\n\r\n")
    // These are not HTTP; the first is the start of a TLS handshake.
    for text in ["\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\r\n\r\n", "GET\r\n\r\n"] {
      let client = try fixture.server.client()
      client.send(text)
      fixture.expectProblem([400], at: client, after: text.debugDescription, orClose: true)
    }
    try fixture.expectNoEffect(of: "bad")
  }

  @Test("A method that the path does not have, with the methods that it has")
  func methods() throws {
    for (method, target, allowed) in [
      ("GET", "/v1/purchases", "POST"), ("PUT", "/v1/purchases", "POST"),
      ("DELETE", "/v1/purchases/a", "GET, HEAD"), ("PATCH", "/v1/purchases/a/finish", "POST"),
      ("OPTIONS", "/v1/products", "GET, HEAD"), ("TRACE", "/v1/products", "GET, HEAD"),
      ("CONNECT", "/v1/products", "GET, HEAD"), ("get", "/v1/products", "GET, HEAD"),
      ("BREW", "/v1/products", "GET, HEAD"), ("POST", "/healthz", "GET, HEAD"),
      ("POST", "/internal/authorize", "GET, HEAD"), ("POST", "/v1/events", "GET"),
    ] {
      let response = try fixture.expectProblem([405], to: fixture.text(method, target))
      #expect(response?.headers["allow"] == allowed, "\(method) \(target)")
    }
    let client = try fixture.server.client()
    client.send(fixture.text("HEAD", "/v1/events"))
    #expect(try client.response(hasBody: false).status == 405)
    try fixture.expectNoEffect(of: "a")
  }

  @Test("A path that does not exist, or is malformed")
  func paths() throws {
    for target in [
      "/", "/v1", "/v1/", "/v2/products", "/V1/products", "/v1/products/", "//v1/products",
      "/v1/purchases/", "/v1/purchases//finish", "/v1/purchases/a/b", "/v1/purchases/a/finish/",
      "/v1/../healthz", "/v1/%2e%2e/healthz", "/internal", "/internal/authorize/a", "/.git/config",
      "/v1/accounts/a", "/v1%2fproducts", "/data/ledger.sqlite",
      "http://other.example/v1/purchases/unknown",
    ] {
      try fixture.expectProblem([404], to: fixture.text("GET", target))
    }
    for target in [
      "v1/products", "*", "/v1/%", "/v1/%zz", "/v1/purchases/%00",
      "/v1/purchases/%ff", "/v1/products?id=%", "/v1/products#a", "/v1/accounts/a%0ab/history",
      "/v1/accounts/\(String(repeating: "a", count: 257))/history",
    ] {
      try fixture.expectProblem([400], to: fixture.text("GET", target))
    }
    try fixture.expectProblem([403], to: fixture.text("GET", "/v1/accounts/key-other/history"))
    try fixture.expectNoEffect(of: "unknown")
  }

  @Test("A zero byte does not end a path or a header field")
  func zeroBytes() throws {
    try fixture.expectProblem([400, 404], to: "GET /healthz\0/a HTTP/1.1\r\nHost: a\r\n\r\n")
    // libmicrohttpd drops zero bytes at the end of a value.
    try fixture.expectProblem([400], to: fixture.text("GET", "/v1/products", ["X\0: a"]))
  }

  // MARK: Parameters

  @Test("A cursor or another parameter that is wrong")
  func parameters() throws {
    let cursor = try #require(try fixture.send("GET", "/v1/events").document()["cursor"] as? String)
    let incarnation = cursor.prefix { $0 != "." }
    let bad = [
      "x", "\(incarnation)", "\(incarnation).", ".1", "\(incarnation).-1", "\(incarnation).+1",
      "\(incarnation).01", "\(incarnation).1.1", "\(incarnation).9223372036854775808",
      "\(incarnation).x", String(repeating: "a", count: 500),
    ]
    let gone = ["other.1", "\(incarnation).9223372036854775807"]
    for (cursors, status) in [(bad, 400), (gone, 410)] {
      for cursor in cursors {
        let encoded = cursor.replacing("+", with: "%2B")
        try fixture.expectProblem([status], to: fixture.text("GET", "/v1/events?after=\(encoded)"))
        let lines = ["Accept: text/event-stream", "Last-Event-ID: \(cursor)"]
        try fixture.expectProblem([status], to: fixture.text("GET", "/v1/events", lines))
      }
    }
    for target in [
      "events?wait=-1", "events?wait=31", "events?wait=1.5", "events?limit=0", "events?limit=201",
      "accounts/a/history?since=-1", "accounts/a/history?since=x", "accounts/a/history?since=%2B1",
      "accounts/a/history?since=9223372036854775808", "accounts/a/entitlements?limit=0",
      "accounts/a/entitlements?limit=1001",
    ] {
      try fixture.expectProblem([400], to: fixture.text("GET", "/v1/\(target)"))
    }
    // Without a gate, contents are public, but the request is checked.
    for body in [
      "{}", "{\"contents\": []}", "{\"contents\": [{}]}",
      "{\"contents\": [{\"contentIdentifier\": \"../a\", \"version\": \"1.0\"}]}",
    ] {
      try fixture.expectProblem([400], to: fixture.text("POST", "/v1/content-grants", body: body))
    }
    try fixture.expectNoEffect(of: "bad")
  }
}
