import HostedHTTPValues
import HostedModel
import HostedDigests
import FoundationEssentials
import HostedShop
import Testing
import HostedTestSupport
import HostedTestTraits

@testable import HostedStoreAPI

@Suite(.waiting, .timeLimit(.hang))
struct PurchaseTests {
  @Test func `a purchase is recorded once, and repeated with the same response`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    let first = await store.buy("t", token, account: "alice", ",\"quantity\":2")
    #expect(first.status == 201 && first.header("Idempotent-Replayed") == nil)
    let purchase = first.document
    #expect(purchase["transactionIdentifier"] == .string("t"))
    #expect(purchase["productIdentifier"] == .string("book"))
    #expect(purchase["account"] == .string("alice"))
    #expect(purchase["state"] == .string("purchased"))
    #expect(purchase["receipt"] == .string("receipt of t"))
    #expect(purchase["quantity"] == .integer(2))
    let record = try #require(try store.ledger.purchase("t"))
    #expect(record.contents.map(\.contentIdentifier) == ["book", "book.audio"])
    #expect(record.price == SoldPrice(milliunits: 2_990, currency: "EUR"))
    #expect(record.isRestorable)

    store.clock.change { $0 += 60 }
    let again = await store.buy("t", token, account: "alice", ", \"quantity\": 2.0e0")
    #expect(again.status == 200 && again.header("Idempotent-Replayed") == "true")
    #expect(again.bytes == first.bytes)
    #expect(await store.send("GET", "/v1/purchases/t", token).bytes == first.bytes)
    for (account, more) in [
      ("alice", ""), ("bob", ",\"quantity\":2"), ("alice", ",\"quantity\":2,\"askToBuy\":true"),
      ("alice", ",\"quantity\":2,\"voucher\":\"v\""),
    ] {
      let other = await store.buy("t", token, account: account, more)
      #expect(other.status == 422 && other.isProblem)
      #expect(other.document["code"] == .integer(706))
    }
    #expect(await store.buy("t", token, product: "coins", account: "alice").status == 422)
  }

  @Test func `a repeated purchase does not need the product or the decider`() async throws {
    let decider = FixedDecider(.success(.approve()))
    let store = try TestStore(deciders: .only(decider))
    let token = try store.token(.purchase)
    await store.buy("t", token)
    store.catalog.state.change { $0.failure = .secretFailure }
    #expect(await store.buy("t", token).status == 200)
    #expect(decider.asked.value.map(\.transaction) == ["t"])
  }

  @Test func `a product that is not offered is not found`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    let response = await store.buy("t", token, product: "unknown")
    #expect(response.status == 404 && response.isProblem)
    #expect(response.document["code"] == .integer(700))
    #expect(await store.buy("t", token).status == 201, "the identifier is still free")
  }

  @Test func `each decision has its state`() async throws {
    let table: [(PurchaseDecision, PurchaseState)] = [
      (.approve(), .purchased), (.later, .deferred(.payment)), (.interrupt, .failed(.interrupted)),
      (.decline(reason: "no\ncredit"), .failed(.declined("no credit"))),
      (.redeemVoucher, .failed(.declined("The purchase needs a voucher"))),
    ]
    for (decision, state) in table {
      let store = try TestStore(deciders: .only(FixedDecider(.success(decision))))
      let response = try await store.buy("t", store.token(.purchase))
      #expect(response.status == 201)
      #expect(response.document["state"] == .string(state.name))
      #expect(try store.ledger.purchase("t")?.state == state)
    }
  }

  @Test func `a purchase that asks to buy is deferred without the decider`() async throws {
    let decider = FixedDecider(.success(.approve()))
    let store = try TestStore(deciders: .only(decider))
    let response = try await store.buy("t", store.token(.purchase), ",\"askToBuy\":true")
    #expect(response.document["state"] == .string("deferred"))
    #expect(response.document["receipt"] == .null)
    #expect(decider.asked.value.isEmpty)
  }

  @Test func `a voucher pays once`() async throws {
    let store = try TestStore(deciders: .only(FixedDecider(.success(.redeemVoucher))))
    let token = try store.token(.purchase)
    _ = try store.ledger.addVouchers(
      [Digest(of: Array("CODE".utf8))], for: nil, at: store.clock.value)
    let several = await store.buy("0", token, ",\"quantity\":2,\"voucher\":\"CODE\"")
    #expect(several.document["reason"] == .string("A voucher pays for a quantity of 1"))
    let states = [
      await store.buy("1", token, ",\"voucher\":\"other\""),
      await store.buy("2", token, ",\"voucher\":\"CODE\""),
      await store.buy("3", token, account: "other", ",\"voucher\":\"CODE\""),
    ].map { $0.document["state"] }
    #expect(states == [.string("failed"), .string("purchased"), .string("failed")])
  }

  @Test func `a transaction that is being decided is refused until it is recorded`() async throws {
    let decider = WaitingDecider()
    let store = try TestStore(deciders: .only(decider))
    let token = try store.token(.purchase)
    async let first = store.buy("t", token)
    await decider.asked.wait { $0 == 1 }
    for quantity in ["", ",\"quantity\":2"] {
      let second = await store.buy("t", token, quantity)
      #expect(second.status == 409 && second.isProblem && second.header("Retry-After") == "1")
    }
    decider.approve()
    #expect(await first.status == 201)
    #expect(await store.buy("t", token).status == 200)
    #expect(decider.asked.value == 1)
  }

  @Test func `a decider that fails leaves nothing behind`() async throws {
    let store = try TestStore(deciders: .only(FixedDecider(.failure(.secretFailure))))
    let token = try store.token(.purchase)
    for _ in 0..<2 {
      let response = await store.buy("t", token)
      #expect(response.status == 503 && response.isProblem)
      #expect(!String(decoding: response.bytes, as: UTF8.self).lowercased().contains("secret"))
    }
    #expect(try store.ledger.purchase("t") == nil)
    #expect(store.reports.value.count == 2)
  }

  @Test func `a commit that fails is reported once, and can be repeated`() async throws {
    let decider = WaitingDecider()
    let store = try TestStore(deciders: .only(decider))
    let token = try store.token(.purchase)
    async let first = store.buy("t", token)
    await decider.asked.wait { $0 == 1 }
    store.database.state.change { $0.failure = .secretFailure }
    decider.approve()
    let failed = await first
    #expect(failed.status == 503 && failed.isProblem && failed.header("Retry-After") == "1")
    #expect(store.reports.value == [.secretFailure])
    store.database.state.change { $0.failure = nil }
    #expect(try store.ledger.purchase("t") == nil)
    async let second = store.buy("t", token)
    await decider.asked.wait { $0 == 2 }
    decider.approve()
    #expect(await second.status == 201)
  }

  @Test func `without its ledger, the server gives no details`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    store.database.state.change { $0.failure = .secretFailure }
    let response = await store.buy("t", token)
    #expect(response.status == 503 && response.isProblem && response.header("Retry-After") == "1")
    #expect(!String(decoding: response.bytes, as: UTF8.self).lowercased().contains("secret"))
    #expect(store.reports.value == [.secretFailure])
  }

  // MARK: Batches

  @Test func `a batch has one result for each purchase in order, and one commit`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    await store.buy("known", token, account: "a")
    let writes = store.database.state.value.writes
    func entry(_ transaction: String, _ product: String, _ account: String = "a") -> String {
      "{\"transactionIdentifier\":\"\(transaction)\",\"productIdentifier\":\"\(product)\","
        + "\"account\":\"\(account)\"}"
    }
    let entries = [
      entry("1", "book"), entry("2", "unknown"), entry("known", "book"), entry("known", "coins"),
      entry("3", "coins"), entry("1", "book"), "7.5", "{\"productIdentifier\":\"book\"}",
      entry("4", "book", "key-other"), entry("5", "magazine"),
    ]
    let response = await store.send(
      "POST", "/v1/purchases:batch", token,
      body: "{\"purchases\":[\(entries.joined(separator: ","))]}")
    #expect(response.status == 200)
    guard case .array(let results)? = response.document["results"] else {
      Issue.record("no results")
      return
    }
    #expect(
      results.map { $0["status"]?.integer } == [201, 404, 200, 422, 201, 409, 400, 400, 403, 201])
    #expect(
      results.map { $0["purchase"]?["transactionIdentifier"]?.string } == [
        "1", nil, "known", nil, "3", nil, nil, nil, nil, "5",
      ])
    #expect(results.allSatisfy { ($0["purchase"] == nil) != ($0["problem"] == nil) })
    #expect(results[1]["problem"]?["code"] == .integer(700))
    #expect(response.header("Retry-After") == "1", "for the transaction in progress")
    #expect(store.database.state.value.writes == writes + 1)
    #expect(await store.buy("4", token).status == 201, "no transaction is left in progress")
  }

  @Test func `a batch has 1 to 64 purchases`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    for (count, status) in [(0, 400), (64, 200), (65, 400)] {
      let entries = (0..<count).map {
        "{\"transactionIdentifier\":\"\($0)\",\"productIdentifier\":\"coins\"}"
      }
      let response = await store.send(
        "POST", "/v1/purchases:batch", token,
        body: "{\"purchases\":[\(entries.joined(separator: ","))]}")
      #expect(response.status == status && response.header("Retry-After") == nil)
    }
    for body in ["{}", "{\"purchases\":{}}", "{\"purchases\":null}", "[]"] {
      #expect(await store.send("POST", "/v1/purchases:batch", token, body: body).status == 400)
    }
  }

  // MARK: Commits

  @Test func `waiting changes share commits of at most 256`() async throws {
    let store = try TestStore()
    let order = { (number: Int) in
      PurchaseRequest(
        transaction: TransactionID(rawValue: "t\(number)"), account: "a",
        productIdentifier: "coins")
    }
    let results = Watched(0)
    let count: @Sendable ([Shop.SaleResult]) -> Void = { sold in
      results.change { $0 += sold.filter { (try? $0.get())?.isRepeated == false }.count }
    }
    // The ledger is created before commits are held.
    _ = try store.token(.purchase)
    let writes = store.database.state.value.writes
    store.database.state.change { $0.isHeld = true }
    store.api.shop.sell([order(0)], completion: count)
    await store.database.state.wait { $0.writes == writes + 1 }
    for number in 1...600 { store.api.shop.sell([order(number)], completion: count) }
    store.database.state.change { $0.isHeld = false }
    await results.wait { $0 == 601 }
    #expect(store.database.state.value.writes == writes + 4)
  }

  @Test func `a closed server finishes its commits and refuses later ones`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .read)
    #expect(await store.buy("1", token).status == 201)
    store.api.close()
    let response = await store.buy("2", token)
    #expect(response.status == 503 && response.isProblem)
    #expect(await store.send("GET", "/v1/purchases/1", token).status == 200)
  }
}
