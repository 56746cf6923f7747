import HostedHTTPValues
import HostedModel
import HostedShop
import Testing
import HostedTestTraits

@testable import HostedStoreAPI

@Suite(.waiting, .timeLimit(.hang))
struct ChangeTests {
  @Test func `an administrator approves, refunds and revokes, also repeatedly`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    await store.buy("t", token, ",\"askToBuy\":true")
    for (change, state) in [
      ("approve", "purchased"), ("approve", "purchased"), ("refund", "refunded"),
      ("refund", "refunded"), ("reverse", "purchased"), ("revoke", "revoked"),
      ("reverse", "purchased"),
    ] {
      let response = await store.send("POST", "/v1/purchases/t/\(change)", token)
      #expect(response.status == 200)
      #expect(response.document["state"] == .string(state))
      let isSold = state == "purchased"
      #expect(response.document["receipt"] == (isSold ? .string("receipt of t") : .null))
    }
  }

  @Test func `a change has a reason, which is optional`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    await store.buy("t", token, ",\"askToBuy\":true")
    for body in ["[]", "{\"reason\":1}", "{\"reason\":\"a\\u0000\"}", "{"] {
      let response = await store.send("POST", "/v1/purchases/t/decline", token, body: body)
      #expect(response.status == 400 && response.isProblem)
    }
    let declined = await store.send(
      "POST", "/v1/purchases/t/decline", token, body: "{\"reason\":\"Not now\"}")
    #expect(declined.document["state"] == .string("failed"))
    #expect(declined.document["reason"] == .string("Not now"))
  }

  @Test func `an impossible change names the state`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    await store.buy("t", token)
    let response = await store.send("POST", "/v1/purchases/t/decline", token)
    #expect(response.status == 409 && response.isProblem)
    #expect(response.document["state"] == .string("purchased"))
    for transaction in ["unknown", "%20", String(repeating: "a", count: 500)] {
      for change in ["approve", "decline", "refund", "revoke", "reverse", "finish"] {
        let unknown = await store.send("POST", "/v1/purchases/\(transaction)/\(change)", token)
        #expect(unknown.status == 404 && unknown.isProblem)
      }
      #expect(await store.send("GET", "/v1/purchases/\(transaction)", token).status == 404)
    }
  }

  @Test func `a purchase is finished after it is purchased, also repeatedly`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    await store.buy("t", token, ",\"askToBuy\":true")
    let early = await store.send("POST", "/v1/purchases/t/finish", token)
    #expect(early.status == 409 && early.document["state"] == .string("deferred"))
    _ = await store.send("POST", "/v1/purchases/t/approve", token)
    for _ in 0..<2 {
      let response = await store.send("POST", "/v1/purchases/t/finish", token)
      #expect(response.status == 204 && response.bytes.isEmpty)
    }
    let purchase = await store.send("GET", "/v1/purchases/t", token).document
    #expect(purchase["isFinished"] == .bool(true))
  }

  @Test func `an erased account is not in the ledger, and its purchases stay`() async throws {
    let store = try TestStore()
    let token = try store.token(.purchase, .admin)
    await store.buy("1", token, account: "alice")
    await store.buy("2", token, account: "bob")
    let erasure = await store.send("POST", "/v1/accounts/alice/erase", token)
    #expect(erasure.status == 200 && erasure.document["purchases"] == .integer(1))
    let unknown = await store.send("POST", "/v1/accounts/alice/erase", token)
    #expect(unknown.document["purchases"] == .integer(0))
    let list = await store.send("GET", "/v1/accounts/alice/history", token)
    #expect(list.document["transactions"] == .array([]))
    let erased = try #require(try store.ledger.purchase("1"))
    #expect(erased.account != nil && erased.account != "alice" && erased.state == .purchased)
    #expect(try store.ledger.purchase("2")?.account == "bob")
    // The answer to a repeated request would name the account.
    let again = await store.buy("1", token, account: "alice")
    #expect(again.status == 410 && again.isProblem)
    #expect(try store.ledger.owned(account: "alice").isEmpty)
    #expect(await store.send("POST", "/v1/accounts/key-other/erase", token).status == 403)
  }
}
