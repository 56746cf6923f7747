import Foundation
import HostedModel
import HostedTestSupport
import HostedTestTraits
import Testing

/// Requests to a store server that are repeated, reordered, truncated, or hidden in others.
@Suite("The order of requests to a store server", .waiting, .timeLimit(.hang))
struct StoreServerRequestOrderTests {
  private let fixture: RequestFixture

  init() throws { fixture = try RequestFixture() }

  @Test("A purchase that 20 clients request at once is sold once, and then replayed")
  func repeated() throws {
    let clients = try (0..<20).map { _ in
      let client = try fixture.server.client()
      client.send(fixture.purchase("order"))
      return client
    }
    let responses = try clients.map { try $0.response() }
    #expect(responses.count(where: { $0.status == 201 }) == 1)
    // Each answer is signed anew, with another signature.
    func purchase(_ response: APIClient.Response) throws -> [String: JSONValue]? {
      var members = try JSONValue(parsing: Array(response.body.utf8)).members
      members?["receipt"] = nil
      return members
    }
    let sold = try purchase(#require(responses.first { $0.status == 201 }))
    for response in responses where response.status != 201 {
      if response.status == 200 {
        #expect(response.headers["idempotent-replayed"] == "true")
        #expect(try purchase(response) == sold)
      } else {
        #expect(response.status == 409 && response.isTypedProblem, "\(response)")
        #expect(response.headers["retry-after"] != nil)
      }
    }
    let client = try fixture.server.client()
    client.send(fixture.purchase("order"))
    #expect(try purchase(client.response()) == sold)
    let other = RequestFixture.body.replacing("alice", with: "bob")
    try fixture.expectProblem([422], to: fixture.purchase("order", body: other))
  }

  @Test("A change that comes too early, too late or again is refused or has no effect")
  func reordered() throws {
    func change(_ name: String, _ status: Int) throws {
      let response = try fixture.send("POST", "/v1/purchases/order/\(name)")
      #expect(response.status == status, "\(name): \(response)")
      #expect(status < 300 || response.isTypedProblem, "\(name): \(response)")
    }
    for name in ["finish", "approve", "decline", "refund", "revoke", "reverse"] {
      try change(name, 404)
    }
    let body = RequestFixture.body.replacing("}", with: ", \"askToBuy\": true}")
    let client = try fixture.server.client()
    client.send(fixture.purchase("order", body: body))
    #expect(try client.response().document()["state"] as? String == "deferred")
    for (name, status) in [
      ("finish", 409), ("refund", 409), ("reverse", 409), ("approve", 200), ("approve", 200),
      ("decline", 409), ("finish", 204), ("finish", 204), ("refund", 200), ("refund", 200),
      ("approve", 409), ("revoke", 409), ("finish", 204), ("reverse", 200), ("reverse", 200),
    ] {
      try change(name, status)
    }
    #expect(
      try fixture.send("GET", "/v1/purchases/order").document()["state"] as? String == "purchased")
  }

  @Test("A truncated request has no effect, and its connection is closed", .slow)
  func truncated() throws {
    let whole = Array(fixture.purchase("cut").utf8)
    let chunked = fixture.purchase("cut", ["Transfer-Encoding: chunked"], body: "")
    let body = RequestFixture.body
    let chunk = "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n"
    var starts: [[UInt8]] = stride(from: 1, to: whole.count, by: 13).map { Array(whole.prefix($0)) }
    starts.append(Array(whole.dropLast()))
    for end in ["", "5", "5\r\n{", chunk, "\(chunk)0", "\(chunk)0\r\n", "\(chunk)0\r\nX: a\r\n"] {
      starts.append(Array("\(chunked)\(end)".utf8))
    }
    // All at once, because a server may wait for the rest until a time limit.
    let clients = try starts.map { bytes in
      let client = try fixture.server.client()
      client.send(bytes)
      client.half()
      return client
    }
    for (client, bytes) in zip(clients, starts) {
      let shown = String(decoding: bytes.suffix(60), as: UTF8.self).debugDescription
      fixture.expectProblem([400, 408], at: client, after: shown, orClose: true)
      #expect(client.end() == .closed, "\(shown)")
    }
    try fixture.expectService()
    try fixture.expectNoEffect(of: "cut")
  }

  @Test("A pair of requests that is sent at once is answered in order")
  func pipelined() throws {
    let client = try fixture.server.client()
    let sent = [
      fixture.purchase("order"), fixture.text("GET", "/v1/purchases/order"),
      fixture.text("GET", "/v1/purchases/none"), fixture.text("PUT", "/v1/purchases"),
      fixture.text("POST", "/v1/purchases/order/finish"), fixture.purchase("order"),
    ]
    client.send(sent.joined())
    let responses = try sent.map { _ in try client.response() }
    #expect(responses.map(\.status) == [201, 200, 404, 405, 204, 200])
    #expect(responses[2].isTypedProblem && responses[3].isTypedProblem)
  }

  @Test("A request that another server may understand differently is refused with what follows")
  func smuggled() throws {
    for lines in [
      ["Content-Length: 5", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: chunked", "Content-Length: 5"],
      ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
      ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: xchunked"], ["Transfer-Encoding: chunked, identity"],
      ["Transfer-Encoding : chunked"], ["Transfer-Encoding\t: chunked"],
      [" Transfer-Encoding: chunked"], ["X: a\nTransfer-Encoding: chunked"],
      ["X: a", "\tTransfer-Encoding: chunked"], ["Transfer-Encoding: \u{b}chunked"],
      ["Transfer-Encoding: chunked\0"], ["Content-Length: 0", "Content-Length: 5"],
      ["Content-Length: 5, 0"], ["Content-Length : 5"], ["Host: other"],
    ] {
      let client = try fixture.server.client()
      let first = fixture.purchase("first", lines, body: "")
      client.send(first + "0\r\n\r\n" + fixture.purchase("hidden"))
      fixture.expectProblem([400, 501], at: client, after: "\(lines)")
      #expect(client.end() != .silence, "\(lines)")
      try fixture.expectNoEffect(of: "hidden")
      try fixture.expectNoEffect(of: "first")
    }
  }

  @Test("A request after a chunked body is not served, since a proxy may have seen another end")
  func afterChunks() throws {
    for body in ["0\r\n\r\n", "5;a=b\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nX: a\r\n\r\n"] {
      let client = try fixture.server.client()
      let first = fixture.purchase("first", ["Transfer-Encoding: chunked"], body: "")
      client.send(first + body + fixture.purchase("hidden"))
      fixture.expectProblem([400], at: client, after: body.debugDescription)
      #expect(client.end() != .silence)
    }
    // A body with a length is not a request.
    let hidden = fixture.purchase("hidden")
    let client = try fixture.server.client()
    client.send(
      fixture.text("GET", "/v1/purchases/none", ["Content-Length: \(hidden.utf8.count)"]) + hidden
        + fixture.text("GET", "/v1/products"))
    #expect(try client.response().status == 404)
    #expect(try client.response().status == 200)
    try fixture.expectNoEffect(of: "hidden")
    try fixture.expectNoEffect(of: "first")
  }
}
