import HostedModel
import HostedTrust
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// Tokens that are limited to one account: JWTs with `sub`.
@Suite("Tokens of one account", .timeLimit(.hang))
struct TokenAccountTests {
  private typealias Script = StoreServerScript

  private func service(_ server: ScriptedServer, account: AccountID) throws -> HTTPStoreService {
    let parts = [#"{"alg":"EdDSA"}"#, #"{"sub":"\#(account)"}"#, "signature"]
    var network = NetworkSettings()
    network.proxy = .direct
    network.firstRetryDelay = .milliseconds(1)
    return try HTTPStoreService(
      url: try #require(URL(string: server.url())),
      token: parts.map { Base64URL.text(of: Array($0.utf8)) }.joined(separator: "."),
      network: network)
  }

  /// Returns the account of the grant for a payment of `named`.
  private func buy(_ named: AccountID?, answered: String, sub: AccountID = "ada") async throws
    -> AccountID?
  {
    let server = try ScriptedServer { _ in
      .json("201 Created", Script.purchase("t1", account: answered))
    }
    let payment = Payment(productIdentifier: "a", applicationUsername: named)
    let order = PurchaseOrder(payment: payment, transaction: "t1")
    let outcomes = try await service(server, account: sub).purchase([order])
    guard case .purchased(let grant, _)? = outcomes.first else { return "not sold" }
    return grant.payment.applicationUsername
  }

  @Test("The account of the token is the own account, and any other one is not")
  func accounts() async throws {
    #expect(try await buy(nil, answered: "ada") == nil)
    #expect(try await buy("ada", answered: "ada") == "ada")
    #expect(try await buy(nil, answered: "bob") == "bob", "the queue refuses it")
    #expect(try await buy(nil, answered: "key-2") == "key-2")
    #expect(try await buy(nil, answered: "key-1", sub: "key-1") == nil)
  }

  @Test("A queue takes a purchase and its receipt for the account of the token")
  func queue() async throws {
    let key = try ReceiptSigningKey.generate()
    let date = Date(timeIntervalSince1970: 1_000_000)
    let server = try ScriptedServer { request in
      guard request.path.hasPrefix("/v1/purchases") else { return .init([], then: .hang) }
      let id = request.header("idempotency-key") ?? ""
      let receipt = try? key.sign(
        Receipt(
          transactionIdentifier: id, productIdentifier: "a", accountToken: "ada",
          purchaseDate: date, signedDate: date))
      let purchase = Script.purchase(id, account: "ada")
      return .json("201 Created", purchase.replacing("a.b.c", with: receipt ?? ""))
    }
    let service = try service(server, account: "ada")
    let fixture = try StoreFixture()
    let queue = try fixture.queue {
      $0.service = service
      $0.receiptVerifier = ReceiptVerifier(keys: [key.verificationKey])
    }
    let transaction = try await queue.purchase(Payment(productIdentifier: "a"))
    #expect(transaction.transactionState == .purchased)
    let named = Payment(productIdentifier: "a", applicationUsername: "ada")
    #expect(try await queue.purchase(named).transactionState == .purchased)
    queue.close()
  }

  @Test("A list with a purchase of another account is refused")
  func lists() async throws {
    let server = try ScriptedServer { _ in
      .json("200 OK", #"{"transactions":[\#(Script.purchase("t1", account: "ada"))]}"#)
    }
    let service = try service(server, account: "ada")
    #expect(try await service.grants(account: nil).map(\.payment.applicationUsername) == [nil])
    #expect(
      try await service.grants(account: "ada").map(\.payment.applicationUsername) == ["ada"])
    let error = await #expect(throws: ContentError.self) {
      try await service.grants(account: "bob")
    }
    #expect(error?.code == .answerUnusable)
  }
}
