import FoundationEssentials
import HostedDigests
import HostedHTTPValues
import HostedModel
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedStoreAPI

/// What ordinary buyers do, over HTTP.
@Suite("One life of a purchase, over HTTP", .waiting, .timeLimit(.hang))
struct RepeatTests {
  @Test func `an owner gets a free repeat on each device, and no decider is asked`() async throws {
    let decider = FixedDecider(.success(.approve()))
    let store = try TestStore(deciders: .only(decider))
    let token = try store.token(.purchase, .admin)
    let sale = await store.buy("phone", token, account: "ann")
    for device in ["tablet", "again"] {
      let again = await store.buy(device, token, account: "ann")
      #expect(again.status == 201 && again.document["state"] == .string("purchased"))
      #expect(again.document["originalTransactionIdentifier"] == .string("phone"))
      #expect(again.document["originalPurchaseDate"] == sale.document["purchaseDate"])
      #expect(again.document["receipt"] == .string("receipt of \(device)"))
      #expect(await store.buy(device, token, account: "ann").status == 200)
      #expect(await store.send("POST", "/v1/purchases/\(device)/finish", token).status == 204)
    }
    #expect(decider.asked.value.map(\.transaction) == ["phone"])
    #expect(try store.ledger.owned(account: "ann").map(\.transaction) == ["phone"])
    #expect(try store.ledger.purchase("tablet")?.price?.milliunits == 0)
    #expect(await store.buy("bob", token, account: "bob").document["original"] == nil)
    #expect(decider.asked.value.count == 2, "another account pays")
  }

  @Test func `after a refund by any of its identifiers, the product is sold again`() async throws {
    let decider = FixedDecider(.success(.approve()))
    let store = try TestStore(deciders: .only(decider))
    let token = try store.token(.purchase, .admin)
    await store.buy("phone", token)
    await store.buy("tablet", token)
    let refund = await store.send("POST", "/v1/purchases/tablet/refund", token)
    #expect(refund.document["transactionIdentifier"] == .string("tablet"))
    for transaction in ["phone", "tablet"] {
      let purchase = await store.send("GET", "/v1/purchases/\(transaction)", token).document
      #expect(purchase["state"] == .string("refunded") && purchase["receipt"] == .null)
    }
    let sold = await store.buy("new", token)
    #expect(sold.document["originalTransactionIdentifier"] == nil)
    #expect(decider.asked.value.map(\.transaction) == ["phone", "new"])
  }

  @Test func `while a product is decided for an account, its other devices wait`() async throws {
    let decider = WaitingDecider()
    let store = try TestStore(deciders: .only(decider))
    let token = try store.token(.purchase)
    async let first = store.buy("phone", token)
    await decider.asked.wait { $0 == 1 }
    let second = await store.buy("tablet", token)
    #expect(second.status == 409 && second.header("Retry-After") == "1")
    decider.approve()
    #expect(await first.status == 201)
    let again = await store.buy("tablet", token)
    #expect(again.document["originalTransactionIdentifier"] == .string("phone"))
    #expect(decider.asked.value == 1)
  }

  @Test func `products of other types are sold each time`() async throws {
    let decider = FixedDecider(.success(.approve()))
    let store = try TestStore(deciders: .only(decider))
    let token = try store.token(.purchase)
    for number in 0..<3 {
      let sold = await store.buy("\(number)", token, product: "coins")
      #expect(sold.document["originalTransactionIdentifier"] == nil)
    }
    #expect(decider.asked.value.count == 3)
  }

  // MARK: Approvals

  @Test func `the decider is asked about an approved purchase, and its answer counts`() async throws
  {
    for (decision, state) in [
      (PurchaseDecision.approve(), "purchased"), (.later, "deferred"), (.interrupt, "failed"),
      (.decline(reason: "No money"), "failed"),
    ] {
      let decider = FixedDecider(.success(decision))
      let store = try TestStore(deciders: .only(decider))
      let token = try store.token(.purchase, .admin)
      let asked = await store.buy("t", token, ",\"askToBuy\":true")
      #expect(asked.document["waitsFor"] == .string("approval") && decider.asked.value.isEmpty)
      let approved = await store.send("POST", "/v1/purchases/t/approve", token)
      #expect(approved.status == 200 && approved.document["state"] == .string(state))
      #expect(decider.asked.value.map(\.isApproved) == [true])
      #expect(decider.asked.value.first?.price == Price(2.99, currency: "EUR"))
      if decision == .later {
        #expect(approved.document["waitsFor"] == .string("payment"))
        let paid = await store.send("POST", "/v1/purchases/t/approve", token)
        #expect(paid.document["state"] == .string("purchased"))
        #expect(decider.asked.value.count == 1, "later is decided by the operator")
      }
    }
  }

  @Test func `a decider that fails leaves an approval to be repeated`() async throws {
    let store = try TestStore(deciders: .only(FixedDecider(.failure(.secretFailure))))
    let token = try store.token(.purchase, .admin)
    await store.buy("t", token, ",\"askToBuy\":true")
    for _ in 0..<2 {
      let approved = await store.send("POST", "/v1/purchases/t/approve", token)
      #expect(approved.status == 503 && approved.isProblem)
    }
    #expect(try store.ledger.purchase("t")?.state == .deferred(.approval))
  }

  @Test func `one voucher pays for one of two children`() async throws {
    let store = try TestStore(deciders: DeciderChain([.voucher]))
    let token = try store.token(.purchase, .admin)
    _ = try store.ledger.addVouchers(
      [Digest(of: Array("CODE".utf8))], for: nil, at: store.clock.value)
    let voucher = ",\"askToBuy\":true,\"voucher\":\"CODE\""
    let first = await store.buy("1", token, account: "kim", voucher)
    #expect(first.document["state"] == .string("deferred"))
    // The voucher is reserved.
    let second = await store.buy("2", token, account: "lee", voucher)
    #expect(second.document["state"] == .string("failed"))
    _ = await store.send("POST", "/v1/purchases/1/decline", token)
    // It is free again.
    let third = await store.buy("3", token, account: "lee", voucher)
    #expect(third.document["state"] == .string("deferred"))
    let approved = await store.send("POST", "/v1/purchases/3/approve", token)
    #expect(approved.document["state"] == .string("purchased"))
    let late = await store.buy("4", token, account: "kim", ",\"voucher\":\"CODE\"")
    #expect(late.document["state"] == .string("failed"))
    // Without a voucher, an approval does not sell.
    await store.buy("5", token, account: "kim", ",\"askToBuy\":true")
    let unpaid = await store.send("POST", "/v1/purchases/5/approve", token)
    #expect(unpaid.document["state"] == .string("failed"))
  }

  @Test func `an approved product that the account owns by now is a repeat`() async throws {
    let decider = FixedDecider(.success(.approve()))
    let store = try TestStore(deciders: .only(decider))
    let token = try store.token(.purchase, .admin)
    await store.buy("asked", token, ",\"askToBuy\":true")
    await store.buy("sold", token)
    let approved = await store.send("POST", "/v1/purchases/asked/approve", token)
    #expect(approved.document["originalTransactionIdentifier"] == .string("sold"))
    #expect(decider.asked.value.map(\.transaction) == ["sold"])
    let asked = await store.buy("owner", token, ",\"askToBuy\":true")
    #expect(asked.document["originalTransactionIdentifier"] == .string("sold"))
  }

  @Test func `at most 20 purchases of an account wait for approval`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    let ask = ",\"askToBuy\":true"
    for number in 0..<20 {
      let asked = await store.buy("\(number)", token, product: "coins", account: "kim", ask)
      #expect(asked.status == 201)
    }
    let refused = await store.buy("20", token, product: "coins", account: "kim", ask)
    #expect(refused.status == 429 && refused.isProblem && refused.header("Retry-After") != nil)
    #expect(await store.buy("other", token, product: "coins", account: "lee", ask).status == 201)
    _ = await store.send("POST", "/v1/purchases/7/decline", token)
    #expect(await store.buy("20", token, product: "coins", account: "kim", ask).status == 201)
  }

  // MARK: Changes, readiness

  @Test func `a change with the same key is made once, also after its reversal`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    await store.buy("t", token)
    await store.buy("u", token, product: "coins")
    func change(_ transaction: String, _ name: String) async -> HTTPResponse<APIBody> {
      await store.send(
        "POST", "/v1/purchases/\(transaction)/\(name)", token,
        headers: ["Idempotency-Key": "run-1"])
    }
    #expect(await change("t", "refund").document["state"] == .string("refunded"))
    _ = await store.send("POST", "/v1/purchases/t/reverse", token)
    #expect(await change("t", "refund").document["state"] == .string("purchased"))
    for (transaction, name) in [("t", "revoke"), ("u", "refund")] {
      let other = await change(transaction, name)
      #expect(other.status == 422 && other.isProblem, "\(transaction) \(name)")
    }
    let kinds = try store.ledger.events(after: 0, limit: 100).map(\.kind)
    #expect(kinds == [.purchased, .purchased, .refunded, .reversed])
    let actors = try store.ledger.events(after: 2, limit: 1).map { $0.actor?.hasPrefix("key-") }
    #expect(actors == [true])
  }

  @Test func `a server whose key is not listed does not sell, and asks no decider`() async throws {
    let decider = FixedDecider(.success(.approve()))
    let isListed = Watched(false)
    let store = try TestStore(deciders: .only(decider)) {
      $0.obstacle = { isListed.value ? nil : .secretFailure }
    }
    let token = try store.token(.purchase)
    #expect(await store.send("GET", "/readyz").status == 503)
    let refused = await store.buy("t", token)
    #expect(refused.status == 503 && refused.isProblem && refused.header("Retry-After") != nil)
    #expect(decider.asked.value.isEmpty)
    isListed.change { $0 = true }
    #expect(await store.send("GET", "/readyz").status == 200)
    #expect(await store.buy("t", token).status == 201)
  }

  @Test func `without a ledger, no token is refused, and the server is not ready`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase)
    store.ledger.close()
    try store.removeLedger()
    #expect(await store.send("GET", "/readyz").status == 503)
    for value in [token, OpaqueToken.generate(), "a.b.c"] {
      let response = await store.send("GET", "/v1/accounts/-/history", value)
      #expect(response.status == 503 && response.isProblem, "\(value.prefix(4))")
    }
  }
}
