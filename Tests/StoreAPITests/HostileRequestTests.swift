import HostedHTTPValues
import HostedModel
import HostedShop
import Testing
import HostedTestTraits

@testable import HostedStoreAPI

@Suite(.waiting, .timeLimit(.hang))
struct HostileRequestTests {
  private let idempotency = HTTPHeaders(["Idempotency-Key": "t"])

  @Test func `a body that is not a valid purchase is refused`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    let product = "\"productIdentifier\":\"book\""
    let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
    let texts = [
      "", " ", "null", "[]", "\"book\"", "{", "{}", "{\(product)", "{\(product)}x",
      "{\(product),\(product)}", "{\"productIdentifier\":7}", "{\"productIdentifier\":null}",
      "{\"productIdentifier\":\"\"}", "{\"productIdentifier\":\"../x\"}",
      "{\"productIdentifier\":\"\(String(repeating: "a", count: 201))\"}",
      "{\(product),\"quantity\":0}", "{\(product),\"quantity\":11}",
      "{\(product),\"quantity\":1.5}", "{\(product),\"quantity\":\"1\"}",
      "{\(product),\"quantity\":9223372036854775807}", "{\(product),\"askToBuy\":1}",
      "{\(product),\"account\":1}", "{\(product),\"account\":\"\"}",
      "{\(product),\"account\":\"..\"}", "{\(product),\"account\":\"a\\u0000b\"}",
      "{\(product),\"account\":\"a\\nb\"}",
      "{\(product),\"account\":\"\(String(repeating: "a", count: 257))\"}",
      "{\(product),\"account\":\"\\ud800\"}", "{\(product),\"voucher\":true}",
      "{\(product),\"voucher\":\"\(String(repeating: "a", count: 257))\"}",
      "{\(product),\"x\":\(deep)}", "{\(product),\"x\":null}", "{\(product),\"Account\":\"a\"}",
      "{\(product),\"transactionIdentifier\":\"t\"}", "{\(product),\"quantity\":true}",
      "{\(product),\"quantity\":1e999}", "{\(product),\"account\":1e999}",
    ]
    let invalidText = Array("{\"productIdentifier\":\"".utf8) + [0xff, 0x22, 0x7d]
    for body in texts.map({ Array($0.utf8) }) + [invalidText] {
      let response = await store.send(
        "POST", "/v1/purchases", token, headers: idempotency, body: body)
      #expect(
        response.status == 400 && response.isProblem, "\(String(decoding: body, as: UTF8.self))")
    }
    #expect(try store.ledger.purchase("t") == nil)
    #expect(await store.buy("t", token).status == 201)
  }

  @Test func `an unknown member and a repeated parameter are refused`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .content, .admin)
    await store.buy("t", token, account: "a")
    let content = "{\"contentIdentifier\":\"book\",\"version\":\"1.2\""
    for (path, body) in [
      ("purchases:batch", "{\"purchases\":[{}],\"x\":1}"),
      ("purchases/t/refund", "{\"Reason\":\"\"}"),
      ("content-grants", "{\"account\":\"a\",\"contents\":[\(content)}],\"x\":1}"),
      ("content-grants", "{\"account\":\"a\",\"contents\":[\(content),\"x\":1}]}"),
      ("content-grants", "{\"transaction\":\"t t\",\"contents\":[\(content)}]}"),
    ] {
      let response = await store.send("POST", "/v1/\(path)", token, body: body)
      #expect(response.status == 400 && response.isProblem, "\(body)")
    }
    for query in [
      "accounts/a/history?limit=1&limit=2", "events?wait=0&wait=0", "products?cursor=a&cursor=b",
    ] {
      let response = await store.send("GET", "/v1/\(query)", token)
      #expect(response.status == 400 && response.isProblem, "\(query)")
    }
    #expect(await store.send("GET", "/v1/products?id=book&id=coins", token).status == 200)
  }

  @Test func `a long body is refused`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    let space = String(repeating: " ", count: 16 << 10)
    let response = await store.send(
      "POST", "/v1/purchases", token, headers: idempotency,
      body: "{\"productIdentifier\":\"book\"}\(space)")
    #expect(response.status == 413 && response.isProblem)
    let batch = await store.send(
      "POST", "/v1/purchases:batch", token,
      body: String(repeating: " ", count: HTTPRequest.maximumBody + 1))
    #expect(batch.status == 413 && batch.isProblem)
  }

  @Test func `a body of another type is refused`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    func status(_ type: String, _ transaction: String) async -> Int {
      await store.send(
        "POST", "/v1/purchases", token,
        headers: [
          "Idempotency-Key": transaction, "Content-Type": type,
        ], body: "{\"productIdentifier\":\"book\"}"
      ).status
    }
    for type in [
      "", "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "json",
      "application/json, text/plain",
    ] {
      #expect(await status(type, "t") == 415, "\(type)")
    }
    for (number, type) in [
      "application/json", "Application/JSON", "application/json; charset=utf-8",
      "application/json ;x",
    ].enumerated() {
      #expect(await status(type, "\(number)") == 201, "\(type)")
    }
  }

  @Test func `a transaction identifier has 1 to 128 visible ASCII characters`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    for key in [
      "", " ", ".", "..", "a b", "a, b", "\u{e9}", "a\u{7f}", String(repeating: "a", count: 129),
    ] {
      let response = await store.buy(key, token)
      #expect(response.status == 400 && response.isProblem, "\(key)")
    }
    let missing = await store.send(
      "POST", "/v1/purchases", token, body: "{\"productIdentifier\":\"book\"}")
    #expect(missing.status == 400 && missing.isProblem)
    for key in ["a", "\"quoted\"", "~!@#$%^&*()_+", String(repeating: "a", count: 128)] {
      #expect(await store.buy(key, token).status == 201, "\(key)")
    }
  }

  @Test func `a malformed target is refused`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    for target in [
      "", "*", "v1/products", "/v1/products?id=%", "/v1/purchases/%00",
      "/v1/accounts/a%2F%00/history",
      "/v1/purchases/%ff", "/v1/products#x",
    ] {
      let response = await store.send("GET", target, token)
      #expect(response.status == 400 && response.isProblem, "\(target)")
    }
  }

  @Test func `a request for events checks each parameter, for a stream too`() async throws {
    let store = try TestStore()
    let token = try store.token(.read)
    let cursor = try #require(
      await store.send("GET", "/v1/events", token).document["cursor"]?.string)
    let stream: HTTPHeaders = ["Accept": "text/event-stream"]
    let unused: HTTPHeaders = ["Last-Event-ID": cursor]
    for headers in [[:], stream] {
      for query in ["wait=x", "limit=-5", "limit=201", "after=x"] {
        let path = "/v1/events?\(query)"
        #expect(await store.send("GET", path, token, headers: headers).status == 400)
        #expect(await store.send("GET", path, token, headers: headers + unused).status == 400)
      }
      let malformed = headers + ["Last-Event-ID": "x"]
      #expect(await store.send("GET", "/v1/events", token, headers: malformed).status == 400)
      // An empty identifier does not hide the cursor.
      let empty = headers + ["Last-Event-ID": ""]
      let gone = await store.send("GET", "/v1/events?after=other.1", token, headers: empty)
      #expect(gone.status == 410)
    }
  }
}
