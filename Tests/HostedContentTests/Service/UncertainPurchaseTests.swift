import HostedConcurrency
import HostedModel
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Purchases that may be sold although the client has no answer about them.
@Suite("Purchases without an outcome", .timeLimit(.hang))
struct UncertainPurchaseTests {
  private typealias Script = StoreServerScript

  private let payment = Payment(productIdentifier: "a")

  private func order(_ name: TransactionID, isRepeated: Bool = false) -> PurchaseOrder {
    PurchaseOrder(payment: payment, transaction: name, isRepeated: isRepeated)
  }

  private func isSold(_ outcome: PurchaseOutcome?) -> Bool {
    if case .purchased? = outcome { true } else { false }
  }

  // MARK: Refused tokens

  @Test("After a restart, a refused token does not fail a purchase that may be sold")
  func restart() async throws {
    let fixture = try StoreFixture()
    let answers = Mutex((isRestarted: false, count: 0))
    let server = try ScriptedServer { request in
      guard request.path.hasPrefix("/v1/purchases") else { return .init([], then: .hang) }
      let (isRestarted, count) = answers.withLock { state in
        if state.isRestarted { state.count += 1 }
        return (state.isRestarted, state.count)
      }
      // The server has sold it, and the connection breaks.
      guard isRestarted else { return .init([], then: .close) }
      return count == 1
        ? .json("401 Unauthorized", Script.problem(401, "Revoked"))
        : .json("200 OK", Script.purchase(request.header("idempotency-key") ?? ""))
    }
    let first = try fixture.queue { $0.service = try? Script.service(server) }
    first.add(RecordingObserver())
    let id = first.add(payment)
    await waitUntil { server.requests.contains { $0.path.hasPrefix("/v1/purchases") } }
    first.close()
    answers.withLock { $0.isRestarted = true }
    let second = try fixture.queue { $0.service = try? Script.service(server) }
    let observer = RecordingObserver(of: second)
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    #expect(observer.log.transactionStates[id]?.last == .purchased)
    #expect(answers.withLock { $0.count } == 2)
    let keys = server.requests.compactMap { $0.header("idempotency-key") }
    #expect(Set(keys) == [id.rawValue])
    second.close()
  }

  @Test("A repeated order waits for an answer about the purchase", arguments: [401, 403])
  func repeated(status: Int) async throws {
    let server = try ScriptedServer { request in
      request.number == 1
        ? .json("\(status) No", Script.problem(status, "No"))
        : .json("200 OK", Script.purchase("t1"))
    }
    let service = try Script.service(server)
    let outcomes = try await service.purchase([order("t1", isRepeated: true)])
    #expect(isSold(outcomes.first) && server.requests.count == 2)
  }

  @Test("After lost events, a refused token does not fail a deferred purchase")
  func lostEvents() async throws {
    let count = Mutex(0)
    let server = try ScriptedServer { request in
      if request.path.hasPrefix("/v1/purchases") {
        switch count.withLock({ count in
          count += 1
          return count
        }) {
        case 1: return .json("201 Created", Script.purchase("t1", state: "deferred"))
        case 2: return .json("401 Unauthorized", Script.problem(401, "Revoked"))
        default: return .json("200 OK", Script.purchase("t1"))
        }
      }
      if request.path.contains("/history") {
        // A purchase that cannot be read does not stop the events.
        return .json("200 OK", #"{"transactions":[{"state":7}]}"#)
      }
      return Script.noEvents(request.path, after: "old.1")
    }
    let service = try Script.service(server)
    #expect(try await service.purchase([order("t1")]) == [.deferred])
    var events = service.events(after: "old.1").makeAsyncIterator()
    guard case .answered("t1", let outcome)? = await events.next()?.event else {
      Issue.record("no answer")
      return
    }
    #expect(isSold(outcome))
    #expect(await events.next() == StoreEventRecord(.contentPublished, cursor: "new.1"))
  }

  @Test("After lost events, an order that was declined is not sent again")
  func declined() async throws {
    let server = try ScriptedServer { request in
      if request.path.hasPrefix("/v1/purchases") {
        return .json("201 Created", Script.purchase("t1", state: "deferred"))
      }
      if request.path.contains("/history") { return .json("200 OK", #"{"transactions":[]}"#) }
      if request.path.hasSuffix("after=old.1") {
        let purchase = Script.purchase("t1", state: "failed", #","reason":"No""#)
        let event = Script.event("old.2", "decided", purchase)
        return .json("200 OK", #"{"events":[\#(event)],"cursor":"old.2"}"#)
      }
      return Script.noEvents(request.path, after: "old.2")
    }
    let service = try Script.service(server)
    #expect(try await service.purchase([order("t1")]) == [.deferred])
    var events = service.events(after: "old.1").makeAsyncIterator()
    guard case .answered("t1", .failed)? = await events.next()?.event else {
      Issue.record("no answer")
      return
    }
    #expect(await events.next() == StoreEventRecord(.contentPublished, cursor: "new.1"))
    #expect(server.requests.count { $0.path.hasPrefix("/v1/purchases") } == 1)
  }

  @Test("After lost events, an order without an outcome does not stop the events")
  func lostEventsWhileSending() async throws {
    let server = try ScriptedServer { request in
      if request.path.hasPrefix("/v1/purchases") {
        return .json("409 Conflict", Script.problem(409, "Running"))
      }
      if request.path.contains("/history") { return .json("200 OK", #"{"transactions":[]}"#) }
      return Script.noEvents(request.path, after: "old.1")
    }
    let service = try Script.service(server)
    let task = Task { try await service.purchase([order("t1")]) }
    await waitUntil { server.requests.contains { $0.path.hasPrefix("/v1/purchases") } }
    var events = service.events(after: "old.1").makeAsyncIterator()
    #expect(await events.next() == StoreEventRecord(.contentPublished, cursor: "new.1"))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("A lost purchase whose token is refused is not recorded as finished")
  func lostFinish() async throws {
    let server = try ScriptedServer { request in
      request.number == 1
        ? .json("404 Not Found", Script.problem(404, "Unknown"))
        : .json("403 Forbidden", Script.problem(403, "No"))
    }
    let service = try Script.service(server)
    let error = await #expect(throws: ContentError.self) {
      try await service.finished(order("t1"), number: "t1")
    }
    #expect(error?.code == .accessDenied)
  }

  // MARK: Answers

  @Test("An answer about another purchase does not decide this one")
  func otherPurchase() async throws {
    let server = try ScriptedServer { request in
      .json("200 OK", Script.purchase(request.number == 1 ? "t0" : "t1"))
    }
    let outcomes = try await Script.service(server).purchase([order("t1")])
    guard case .purchased(let grant, _)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(grant.transactionIdentifier == "t1" && server.requests.count == 2)
  }

  @Test(
    "An account with another meaning at the server is refused before it is sent",
    arguments: ["", "-", ".", "..", "key-1", "key-\u{301}"])
  func accounts(name: AccountID) async throws {
    let server = try ScriptedServer { _ in .json("201 Created", Script.purchase("t1")) }
    let payment = Payment(productIdentifier: "a", applicationUsername: name)
    let outcomes = try await Script.service(server).purchase([
      PurchaseOrder(payment: payment, transaction: "t1")
    ])
    guard case .failed(let error)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(error.code == .paymentInvalid && server.requests.isEmpty)
  }

  // MARK: Batches

  @Test("A refused batch is not about its purchases, which are then sent alone")
  func refusedBatch() async throws {
    let server = try ScriptedServer { request in
      guard request.path == "/v1/purchases" else {
        return .json("413 Too Large", Script.problem(413, "Too large"))
      }
      return .json("200 OK", Script.purchase(request.header("idempotency-key") ?? ""))
    }
    let orders = ["t1", "t2", "t3"].map { order(TransactionID(rawValue: $0)) }
    let outcomes = try await Script.service(server).purchase(orders)
    #expect(outcomes.map { isSold($0) } == [true, true, true])
    #expect(server.requests.count == 4)
  }

  @Test("Purchases of a batch do not wait for one without an outcome")
  func early() async throws {
    let server = try ScriptedServer { request in
      guard request.path == "/v1/purchases:batch" else { return .init([], then: .hang) }
      return .json(
        "200 OK",
        """
        {"results":[{"status":409,"problem":\(Script.problem(409, "Running"))},
        {"status":201,"purchase":\(Script.purchase("t2"))}]}
        """)
    }
    let service = try Script.service(server)
    var events = service.events(after: "i.1").makeAsyncIterator()
    let task = Task { try await service.purchase([order("t1"), order("t2")]) }
    guard case .answered("t2", let outcome)? = await events.next()?.event else {
      Issue.record("no answer")
      return
    }
    #expect(isSold(outcome))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
