import HostedConcurrency
import HostedModel
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Products, grants and events of a store server", .timeLimit(.hang))
struct HTTPStoreServiceListTests {
  private typealias Script = StoreServerScript

  // MARK: Products

  @Test("All pages of products are read, and links do not lead to another server")
  func pages() async throws {
    let (a, b) = (try Script.product("a"), try Script.product("b"))
    let server = try ScriptedServer { request in
      request.number == 1
        ? .json(
          "200 OK", #"{"products":[\#(a)],"invalid":["c"],"failures":[]}"#,
          [#"Link: <https://evil.example/v1/products?cursor=x%2C>; rel="next", </>; rel="up""#])
        : .json(
          "200 OK",
          #"{"products":[\#(b),{"productIdentifier":7}],"failures":[{"code":500,"message":"Bad"}]}"#
        )
    }
    let response = try await Script.service(server).products(["a", "b", "c"])
    #expect(
      server.requests.map(\.path) == ["/v1/products?id=a&id=b&id=c", "/v1/products?cursor=x%2C"])
    #expect(response.products.map(\.productIdentifier) == ["a", "b"])
    #expect(response.products.first?.contents.first?.version == "2.0")
    #expect(response.invalidProductIdentifiers == ["c"])
    #expect(response.failures.map(\.code) == [.metadataDamaged, .answerUnusable])
  }

  @Test func `a page of products that links to itself is an error`() async throws {
    let server = try ScriptedServer { _ in
      .json("200 OK", #"{"products":[]}"#, [#"Link: </v1/products?cursor=x>; rel="next""#])
    }
    let service = try Script.service(server)
    let error = await #expect(throws: ContentError.self) { try await service.allProducts() }
    #expect(error?.code == .answerUnusable)
    #expect(server.requests.count == 2)
  }

  @Test("Many identifiers are split into several requests, and none needs no request")
  func manyIdentifiers() async throws {
    let server = try ScriptedServer { _ in .json("200 OK", #"{"products":[]}"#) }
    let service = try Script.service(server)
    let names = (0..<500).map { "com.example.\($0)" }
    _ = try await service.products(Set(try names.map { try ProductIdentifier(validating: $0) }))
    #expect(server.requests.count > 1)
    #expect(server.requests.allSatisfy { $0.path.utf8.count <= 2_100 })
    let asked = server.requests.flatMap { $0.path.dropFirst(13).split(separator: "&") }
    #expect(Set(asked) == Set(names.map { "id=\($0)"[...] }))
    let count = server.requests.count
    #expect(try await service.products([]).products.isEmpty)
    #expect(server.requests.count == count)
  }

  @Test("A refused token, malformed JSON and a missing server are errors", arguments: [401, 200])
  func failures(status: Int) async throws {
    let server = try ScriptedServer { _ in .json("\(status) Answer", "<html>") }
    let error = await #expect(throws: ContentError.self) {
      try await Script.service(server).allProducts()
    }
    #expect(error?.code == (status == 401 ? .accessDenied : .answerUnusable))
  }

  // MARK: Grants

  @Test("Grants are read from all pages, oldest first")
  func grants() async throws {
    let server = try ScriptedServer { request in
      let number = request.number
      let purchase = Script.purchase(
        "t\(number)", account: "ada/b", revision: number * 10,
        date: "2026-01-0\(4 - number)T00:00:00Z")
      return .json("200 OK", #"{"transactions":[\#(purchase)],"hasMore":\#(number < 3)}"#)
    }
    let grants = try await Script.service(server).grants(account: "ada/b")
    #expect(grants.map(\.transactionIdentifier) == ["t3", "t2", "t1"])
    #expect(grants.allSatisfy { $0.payment.applicationUsername == "ada/b" })
    #expect(
      server.requests.map(\.path)
        == [0, 10, 20].map { "/v1/accounts/ada%2Fb/entitlements?since=\($0)&limit=1000" })
  }

  @Test("A list that does not advance is an error")
  func endless() async throws {
    let server = try ScriptedServer { _ in
      .json("200 OK", #"{"transactions":[\#(Script.purchase("t"))],"hasMore":true}"#)
    }
    let service = try Script.service(server)
    await #expect(throws: ContentError.self) { try await service.grants(account: nil) }
    #expect(server.requests.count == 2)
  }

  @Test("An account name that has another meaning in URLs is refused", arguments: ["", "-", ".."])
  func accountNames(name: AccountID) async throws {
    let server = try ScriptedServer { _ in .json("200 OK", #"{"transactions":[]}"#) }
    let service = try Script.service(server)
    let error = await #expect(throws: ContentError.self) {
      try await service.grants(account: name)
    }
    #expect(error?.code == .paymentInvalid && server.requests.isEmpty)
  }

  @Test("A restore has the first purchase of each product, with the current contents")
  func restore() async throws {
    let product = try Script.product("a")
    let server = try ScriptedServer { request in
      if request.path.hasPrefix("/v1/products") {
        return .json("200 OK", #"{"products":[\#(product)],"invalid":["b"]}"#)
      }
      let purchases = [
        Script.purchase("later"), Script.purchase("first", date: "2025-01-01T00:00:00Z"),
        Script.purchase("retired", of: "b"), Script.purchase("gone", of: "c", state: "revoked"),
      ]
      return .json("200 OK", #"{"transactions":[\#(purchases.joined(separator: ","))]}"#)
    }
    var restored: [String] = []
    for try await purchase in try Script.service(server).restore(account: nil) {
      restored += purchase.contents.map {
        "\(purchase.original.transactionIdentifier) \($0.contentIdentifier) \($0.version)"
      }
    }
    #expect(restored == ["first a 2.0", "retired b 1.0"])
    #expect(
      server.requests.map(\.path)
        == ["/v1/accounts/-/entitlements?since=0&limit=1000", "/v1/products?id=a&id=b"])
  }

  // MARK: Events

  /// Returns the first `count` events after `cursor`.
  private func events(
    _ count: Int, after cursor: String?, _ server: ScriptedServer
  ) async throws -> [StoreEventRecord] {
    var found: [StoreEventRecord] = []
    for await record in try Script.service(server).events(after: cursor) {
      found.append(record)
      if found.count == count { break }
    }
    return found
  }

  @Test("Events start now without a cursor, and continue after each page")
  func eventCursors() async throws {
    let server = try ScriptedServer { request in
      switch request.number {
      case 1: .json("200 OK", #"{"events":[],"cursor":"i.1"}"#)
      case 2: .init([], then: .close)
      case 3: .json("503 Busy", "{}", ["Retry-After: 0"])
      case 4: .json("200 OK", "{")
      case 5:
        .json("200 OK", #"{"events":[\#(Script.event("i.2", "published"))],"cursor":"i.2"}"#)
      case 6:
        .json(
          "200 OK",
          #"{"events":[\#(Script.event("i.3", "new kind")),\#(Script.event("i.4", "published"))],"#
            + #""cursor":"i.4"}"#)
      default: .init([], then: .hang)
      }
    }
    #expect(
      try await events(3, after: nil, server) == [
        StoreEventRecord(.checkpoint, cursor: "i.1"),
        StoreEventRecord(.contentPublished, cursor: "i.2"),
        StoreEventRecord(.contentPublished, cursor: "i.4"),
      ])
    let paths = server.requests.map(\.path)
    #expect(paths[0] == "/v1/events?wait=0&limit=200")
    #expect(paths[1...4].allSatisfy { $0 == "/v1/events?wait=25&limit=200&after=i.1" })
    #expect(paths[5] == "/v1/events?wait=25&limit=200&after=i.2")
  }

  @Test("Decisions are answers, refunds and revocations are reported, other events are skipped")
  func kinds() async throws {
    let events = [
      Script.event("1", "purchased", Script.purchase("t1")),
      Script.event("2", "decided", Script.purchase("t2")),
      Script.event("3", "decided", Script.purchase("t3", state: "failed", #","reason":"No""#)),
      Script.event("4", "decided", Script.purchase("t4"), #","wasInterrupted":true"#),
      Script.event("5", "refunded", Script.purchase("t5", account: "ada", state: "refunded")),
      // Given back since.
      Script.event("6", "revoked", Script.purchase("t6")),
      Script.event("8", "revoked", Script.purchase("t8", state: "broken")),
      Script.event("9", "published"),
    ]
    let server = try ScriptedServer { request in
      request.number == 1
        ? .json(
          "200 OK",
          #"{"events":[\#(events.joined(separator: ","))],"cursor":"9"}"#)
        : .init([], then: .hang)
    }
    let found = try await self.events(5, after: "0", server)
    #expect(found.map(\.cursor) == ["2", "3", "4", "5", "9"])
    let described = found.map { record -> String in
      switch record.event {
      case .answered(let transaction, .purchased(let grant, _)):
        "answered \(transaction) \(grant.transactionIdentifier)"
      case .answered(let transaction, .failed): "failed \(transaction)"
      case .revoked(let revocation):
        "revoked \(revocation.productIdentifiers) \(revocation.account ?? "")"
      case .contentPublished: "published"
      default: "other"
      }
    }
    #expect(
      described == [
        "answered t2 t2", "failed t3", "answered t4 t4", "revoked [a] ada", "published",
      ])
  }

  @Test("A decision before the first position is found by asking for the order again")
  func earlyDecision() async throws {
    let server = try ScriptedServer { request in
      if request.path.hasPrefix("/v1/purchases") {
        let state = request.number == 1 ? "deferred" : "purchased"
        return .json("200 OK", Script.purchase("t1", state: state))
      }
      return Script.noEvents(request.path, cursor: "i.1")
    }
    try await expectEarlyDecision(server)
  }

  /// Buys `t1`, which is deferred, and expects its decision before the first position.
  private func expectEarlyDecision(_ server: ScriptedServer) async throws {
    let service = try Script.service(server)
    let order = PurchaseOrder(payment: Payment(productIdentifier: "a"), transaction: "t1")
    #expect(try await service.purchase([order]) == [.deferred])
    var events = service.events(after: nil).makeAsyncIterator()
    let first = await events.next()
    guard case .answered("t1", .purchased)? = first?.event else {
      Issue.record("\(String(describing: first))")
      return
    }
    #expect(await events.next() == StoreEventRecord(.checkpoint, cursor: "i.1"))
  }

  @Test func `the first position stays if asking for earlier decisions fails`() async throws {
    let purchases = Atomic(0)
    let server = try ScriptedServer { request in
      guard request.path.hasPrefix("/v1/purchases") else {
        return Script.noEvents(request.path, cursor: "i.1")
      }
      switch purchases.wrappingAdd(1, ordering: .relaxed).newValue {
      case 1: return .json("200 OK", Script.purchase("t1", state: "deferred"))
      case 2...20: return .init([], then: .close)
      default: return .json("200 OK", Script.purchase("t1"))
      }
    }
    try await expectEarlyDecision(server)
    #expect(server.requests.count { $0.path.contains("wait=0") } == 1)
  }

  @Test("After lost events, open orders are repeated and revocations are read from the history")
  func lostEvents() async throws {
    let server = try ScriptedServer { request in
      let path = request.path
      if path.hasPrefix("/v1/purchases") {
        let count = request.number
        return .json(
          "200 OK", Script.purchase("t1", state: count == 1 ? "deferred" : "purchased"))
      }
      if path.contains("/history") {
        let purchases = [
          Script.purchase("t2", of: "b", state: "refunded"),
          Script.purchase("t3", of: "c", state: "revoked"), Script.purchase("t4", of: "c"),
        ]
        return .json("200 OK", #"{"transactions":[\#(purchases.joined(separator: ","))]}"#)
      }
      return Script.noEvents(path, after: "old.5")
    }
    let service = try Script.service(server)
    let order = PurchaseOrder(payment: Payment(productIdentifier: "a"), transaction: "t1")
    #expect(try await service.purchase([order]) == [.deferred])
    let stream = service.events(after: "old.5")
    var found: [StoreEventRecord] = []
    for await record in stream {
      found.append(record)
      if found.count == 3 { break }
    }
    guard case .answered("t1", .purchased)? = found.first?.event else {
      Issue.record("\(found)")
      return
    }
    #expect(found[1].event == .revoked(Revocation(["b"], transactionIdentifier: "t2")))
    #expect(found[2] == StoreEventRecord(.contentPublished, cursor: "new.1"))
    await waitUntil { server.requests.last?.path.hasSuffix("after=new.1") == true }
    withExtendedLifetime(stream) {}
  }

  @Test("A server that loses all events is asked again with growing pauses")
  func alwaysLost() async throws {
    let server = try ScriptedServer { request in
      if request.path.contains("/history") { return .json("200 OK", #"{"transactions":[]}"#) }
      return request.path.contains("after=")
        ? .json("410 Gone", Script.problem(410, "Gone")) : Script.noEvents(request.path)
    }
    let service = try Script.service(server)
    let start = ContinuousClock.now
    var events = service.events(after: "old.1").makeAsyncIterator()
    for _ in 0..<11 { #expect(await events.next()?.event == .contentPublished) }
    // Nine pauses of at least 1 ms, 2 ms, 4 ms …
    #expect(start.duration(to: .now) > .milliseconds(500))
  }
}
