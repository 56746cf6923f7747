import HostedContentTesting
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Several payments for a product, and repeated ones", .timeLimit(.hang))
struct RepeatedPaymentTests {
  @Test("Each of several interrupted purchases of a product can be resolved")
  func interruptedTwice() async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setDecision(.interrupt, about: "book", count: 2)
    let queue = try session.launch()
    let accounts: [AccountID] = ["ada", "bob"]
    for account in accounts {
      let payment = Payment(productIdentifier: "book", applicationUsername: account)
      await #expect(throws: ContentError.self) { try await queue.purchase(payment) }
    }
    for _ in accounts { try await session.resolveInterruption(of: "book") }
    for account in accounts {
      let grants = try await queue.grants(account: account)
      #expect(grants.count == 1, "\(account)")
    }
    await #expect(throws: ContentError.self) {
      try await session.resolveInterruption(of: "book")
    }
  }

  @Test("A payment that was sold is answered alike when it is repeated, also after a new decision")
  func repeatedPayment() async throws {
    let session = try StoreSession()
    try session.publish("book")
    let sellers = Watched<[any StoreService]>([])
    let queue = try session.launch { configuration in
      guard let makeSeller = configuration.seller else { return }
      configuration.seller = { store in
        let seller = makeSeller(store)
        sellers.change { $0.append(seller) }
        return seller
      }
    }
    let transaction = try await queue.purchase(Payment("book"))
    let refusal = ContentError(.notEntitled, "No", remedy: "Pay")
    try session.setDecision(.fail(refusal), about: "book")
    let seller = try #require(sellers.value.last)
    let order = PurchaseOrder(payment: Payment("book"), transaction: transaction.id)
    let outcomes = try await seller.purchase([order])
    guard case .purchased? = outcomes.first else {
      Issue.record("The repeated payment has the outcome \(outcomes)")
      return
    }
    await #expect(throws: ContentError.self) { try await queue.purchase(Payment("book")) }
  }

  @Test("A product that a later purchase still grants is not reported as lost")
  func overlappingPurchases() async throws {
    let session = try StoreSession()
    try session.offer("pass", details: ProductDetails(type: .nonRenewing))
    session.setLifetime(.seconds(3600), of: "pass")
    let queue = try session.launch()
    _ = try await queue.purchase(Payment("pass"))
    try await session.advance(by: .seconds(1800))
    _ = try await queue.purchase(Payment("pass"))
    let recorder = CallRecorder(delivers: false)
    queue.add(recorder)
    try await session.advance(by: .seconds(1800))
    #expect(try await queue.grants().count == 1)
    try await session.advance(by: .seconds(1800))
    try await session.refund("other")
    await recorder.wait { $0.revoked.contains("other") }
    #expect(recorder.calls.revoked == ["pass", "other"])
  }

  @Test("A purchase elsewhere is delivered whatever the decision about payments is, and keeps it")
  func purchaseElsewhere() async throws {
    let session = try StoreSession()
    try session.publish("book")
    try session.setDecision(.later, about: "book", count: 1)
    let queue = try session.launch()
    let recorder = CallRecorder(delivers: false)
    queue.add(recorder)
    try await session.grant("book")
    await recorder.wait { $0.counts["purchased"] != nil }
    #expect(session.deferredTransactions().isEmpty)
    let id = queue.add(Payment("book"))
    await recorder.wait { $0.counts["deferred"] != nil }
    #expect(session.deferredTransactions() == [id])
  }
}
