import HostedModel
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Purchases at a store server", .timeLimit(.hang))
struct HTTPStoreServiceTests {
  private typealias Script = StoreServerScript

  private let payment = Payment(productIdentifier: "a")

  private func buy(_ server: ScriptedServer) async throws -> PurchaseOutcome {
    let order = PurchaseOrder(payment: payment, transaction: "t1")
    let outcomes = try await Script.service(server).purchase([order])
    return try #require(outcomes.first)
  }

  private func error(_ outcome: PurchaseOutcome) -> ContentError? {
    if case .failed(let error) = outcome { error } else { nil }
  }

  private func isSold(_ outcome: PurchaseOutcome) -> Bool {
    if case .purchased = outcome { true } else { false }
  }

  // MARK: One purchase

  @Test("A purchase has its identifier as key, and the grant of the server")
  func shape() async throws {
    let server = try ScriptedServer { _ in .json("201 Created", Script.purchase("t1")) }
    let outcome = try await buy(server)
    let request = try #require(server.requests.first)
    #expect(request.method == "POST" && request.path == "/v1/purchases")
    #expect(request.header("authorization") == "Bearer \(Script.token)")
    #expect(request.header("idempotency-key") == "t1")
    #expect(request.header("content-type") == "application/json")
    #expect(
      request.json
        == .object([
          "productIdentifier": .string("a"), "quantity": .integer(1), "askToBuy": .bool(false),
        ]))
    guard case .purchased(let grant, let contents) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(grant.transactionIdentifier == "t1" && grant.receipt == "a.b.c")
    #expect(grant.payment == payment, "the own account of the key is nil")
    #expect(abs(grant.date.timeIntervalSince1970 - 1_767_323_045.678) < 0.001)
    #expect(contents.map(\.contentIdentifier) == ["a"] && contents.map(\.version) == ["1.0"])
  }

  @Test("The account, the quantity and ask-to-buy are sent, and compared by the queue")
  func account() async throws {
    let server = try ScriptedServer { _ in
      .json("201 Created", Script.purchase("t1", account: "ada", state: "deferred"))
    }
    let payment = Payment(
      productIdentifier: "a", quantity: 3, applicationUsername: "ada", simulatesAskToBuy: true)
    let order = PurchaseOrder(payment: payment, transaction: "t1")
    #expect(try await Script.service(server).purchase([order]) == [.deferred])
    let json = server.requests.first?.json
    #expect(json?["account"] == .string("ada") && json?["quantity"] == .integer(3))
    #expect(json?["askToBuy"] == .bool(true))
  }

  @Test(
    "A purchase without a readable answer is repeated with the same key until it has one",
    arguments: ["cut", "503", "500", "409", "malformed", "not JSON", "too long", "web page"])
  func uncertain(fault: String) async throws {
    let server = try ScriptedServer { request in
      guard request.number <= 2 else { return .json("200 OK", Script.purchase("t1")) }
      return switch fault {
      case "cut": .init([], then: .close)
      case "503": .json("503 Busy", "{}", ["Retry-After: 0"])
      case "500": .json("500 Broken", "{}")
      case "409": .json("409 Running", Script.problem(409, "Running"), ["Retry-After: 0"])
      case "malformed": .json("201 Created", #"{"state":"purchased"}"#)
      case "not JSON": .json("201 Created", "[1,")
      case "too long": .http("201 Created", length: 1 << 30, then: .close)
      default: .http("404 Not Found", ["Content-Type: text/html"], body: Array("<html>".utf8))
      }
    }
    // The first answer decides, even if it is not the store server's: the address is wrong.
    let isDecided = fault == "web page"
    #expect(isSold(try await buy(server)) == !isDecided)
    #expect(server.requests.count == (isDecided ? 1 : 3))
    #expect(Set(server.requests.map { $0.header("idempotency-key") }) == ["t1"])
    #expect(Set(server.requests.map(\.body)).count == 1)
  }

  @Test("After an uncertain attempt, a refused token does not fail a purchase")
  func refusedLater() async throws {
    let server = try ScriptedServer { request in
      switch request.number {
      case 1: .init([], then: .close)
      case 2: .json("401 Unauthorized", Script.problem(401, "Revoked"))
      case 3: .http("404 Not Found", ["Content-Type: text/html"], body: Array("<html>".utf8))
      default: .json("200 OK", Script.purchase("t1"))
      }
    }
    #expect(isSold(try await buy(server)))
    #expect(server.requests.count == 4)
  }

  @Test(
    "A problem is the error of the purchase, in one printable line without the token",
    arguments: [
      (401, nil, .accessDenied), (403, 700, .accessDenied), (404, nil, .productUnknown),
      (422, 706, .transactionExists), (400, 999_999, .requestRefused), (400, 804, .requestRefused),
      (413, nil, .requestRefused),
    ] as [(Int, Int?, ContentError.Code)])
  func problem(status: Int, code: Int?, expected: ContentError.Code) async throws {
    let server = try ScriptedServer { _ in
      let detail = "No \(Script.token)\\n\\u001b" + String(repeating: "x", count: 5_000)
      return .json("\(status) No", Script.problem(status, detail, code: code))
    }
    let error = try #require(error(try await buy(server)))
    #expect(error.code == expected && error.subject == "a")
    #expect(!error.description.contains(Script.token))
    #expect(error.message.count < 600 && !error.message.contains("\u{1b}"))
    #expect(server.requests.count == 1)
  }

  @Test(
    "A purchase that was not sold or was taken back fails with the reason",
    arguments: [
      ("failed", #","reason":"No money""#, ContentError.Code.purchaseDeclined),
      ("failed", #","reason":"No money for \#(Script.token)""#, .purchaseDeclined),
      ("failed", #","isInterrupted":true"#, .purchaseInterrupted),
      ("refunded", #","reason":"Broken""#, .purchaseRevoked), ("revoked", "", .purchaseRevoked),
    ])
  func refused(state: String, more: String, code: ContentError.Code) async throws {
    let server = try ScriptedServer { _ in
      .json("201 Created", Script.purchase("t1", state: state, more))
    }
    let error = try #require(error(try await buy(server)))
    #expect(error.code == code && error.subject == "a")
    if more.contains("No money") { #expect(error.message.contains("No money")) }
    #expect(!error.description.contains(Script.token))
  }

  @Test("A purchase that is cancelled throws, and does not fail")
  func cancelled() async throws {
    let server = try ScriptedServer { _ in .init([], then: .hang) }
    let service = try Script.service(server)
    let order = PurchaseOrder(payment: payment, transaction: "t1")
    let task = Task { try await service.purchase([order]) }
    await waitUntil { !server.requests.isEmpty }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  // MARK: Batches

  @Test("Orders are sent together, and only those without an outcome are repeated")
  func batch() async throws {
    let server = try ScriptedServer { request in
      guard request.number == 1 else { return .json("200 OK", Script.purchase("t2")) }
      return .json(
        "200 OK",
        """
        {"results":[{"status":201,"purchase":\(Script.purchase("t1"))},
        {"status":409,"problem":\(Script.problem(409, "Running"))},
        {"status":404,"problem":\(Script.problem(404, "Not offered"))}]}
        """)
    }
    let orders = ["t1", "t2", "t3"].map { PurchaseOrder(payment: payment, transaction: $0) }
    let service = try Script.service(server)
    let outcomes = try await service.purchase(orders)
    #expect(outcomes.map(isSold) == [true, true, false])
    #expect(error(outcomes[2])?.code == .productUnknown)
    #expect(server.requests.map(\.path) == ["/v1/purchases:batch", "/v1/purchases"])
    #expect(server.requests[1].header("idempotency-key") == "t2")
    guard case .array(let sent)? = server.requests[0].json?["purchases"] else {
      Issue.record("no purchases")
      return
    }
    #expect(sent.map { $0["transactionIdentifier"]?.string } == ["t1", "t2", "t3"])
  }

  @Test("A batch with a wrong number of results is repeated")
  func wrongCount() async throws {
    let server = try ScriptedServer { request in
      let results = ["t1", "t2"].prefix(request.number).map {
        #"{"status":201,"purchase":\#(Script.purchase($0))}"#
      }
      return .json("200 OK", #"{"results":[\#(results.joined(separator: ","))]}"#)
    }
    let orders = ["t1", "t2"].map { PurchaseOrder(payment: payment, transaction: $0) }
    let service = try Script.service(server)
    let outcomes = try await service.purchase(orders)
    #expect(outcomes.map(isSold) == [true, true])
    #expect(server.requests.count == 2)
  }

  // MARK: Finishes

  @Test("A finished purchase is recorded by its number", arguments: [204, 409])
  func finish(status: Int) async throws {
    let server = try ScriptedServer { _ in .http("\(status) Done") }
    let order = PurchaseOrder(payment: payment, transaction: "t1")
    try await Script.service(server).finished(order, number: "n/1")
    #expect(server.requests.map(\.path) == ["/v1/purchases/n%2F1/finish"])
    #expect(server.requests.first?.method == "POST")
  }

  @Test("A purchase that the server has lost is bought again with the same identifier")
  func lost() async throws {
    let server = try ScriptedServer { request in
      switch request.number {
      case 1: .json("404 Not Found", Script.problem(404, "Unknown"))
      case 2: .json("201 Created", Script.purchase("t1"))
      default: .http("204 No Content")
      }
    }
    let order = PurchaseOrder(payment: payment, transaction: "t1")
    try await Script.service(server).finished(order, number: "t1")
    #expect(
      server.requests.map(\.path)
        == ["/v1/purchases/t1/finish", "/v1/purchases", "/v1/purchases/t1/finish"])
    #expect(server.requests[1].header("idempotency-key") == "t1")
  }

  @Test("A finish that fails throws, so that the queue repeats it", arguments: [401, 404])
  func failedFinish(status: Int) async throws {
    let server = try ScriptedServer { _ in
      .http("\(status) No", ["Content-Type: text/html"], body: Array("<html>".utf8))
    }
    let service = try Script.service(server)
    let order = PurchaseOrder(payment: payment, transaction: "t1")
    await #expect(throws: ContentError.self) { try await service.finished(order, number: "t1") }
  }

  // MARK: Tokens

  @Test("The token of a file is used, without the line break")
  func tokenFile() async throws {
    let folder = try TemporaryFolder()
    try Data("\(Script.token)\n".utf8).write(to: URL(filePath: folder.path("token")))
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("link"), withDestinationPath: "token")
    let server = try ScriptedServer { _ in .json("200 OK", Script.purchase("t1")) }
    let service = try HTTPStoreService(
      url: try #require(URL(string: server.url("/store/"))),
      tokenFile: URL(filePath: folder.path("link")))
    _ = try await service.purchase([PurchaseOrder(payment: payment, transaction: "t1")])
    #expect(server.requests.first?.path == "/store/v1/purchases")
    #expect(server.requests.first?.header("authorization") == "Bearer \(Script.token)")
  }

  @Test("A token is not sent without encryption to another machine")
  func plain() throws {
    let url = try #require(URL(string: "http://store.example/"))
    let error = #expect(throws: ContentError.self) {
      try HTTPStoreService(url: url, token: Script.token)
    }
    #expect(error?.code == .insecureConnectionRefused)
    #expect(error?.description.contains(Script.token) == false)
  }

  @Test(
    "An invalid token is refused, and not shown",
    arguments: ["", "two words", "a\r\nX: y", String(repeating: "x", count: 5_000)])
  func invalidToken(token: String) throws {
    let url = try #require(URL(string: "https://store.example/"))
    let error = #expect(throws: ContentError.self) { try HTTPStoreService(url: url, token: token) }
    #expect(error?.code == .usage)
    if token.count > 1 { #expect(error?.description.contains(token) == false) }
  }
}
