import HostedContentTesting
import HostedTestTraits
import Testing

/// Observers cannot see which service a queue has.
@Suite("The same calls from each service", .waiting, .timeLimit(.hang))
struct SameCallsTests {
  @Test("Observers get the same calls from the built-in service and from a store server", .slow)
  func same() async throws {
    let session = try StoreSession()
    let builtIn = try await calls(Shop(session: try StoreSession(), server: nil))
    let server = try await calls(
      Shop(session: session, server: try StoreServerSession(session)))
    for product in Set(builtIn.states.keys).union(server.states.keys) {
      #expect(builtIn.states[product] == server.states[product], "\(product)")
    }
    #expect(builtIn.failures["declined"] == .purchaseDeclined)
    #expect(builtIn.failures["missing"] == .productUnknown)
    #expect(builtIn.failures == server.failures)
    #expect(builtIn.counts == server.counts)
    #expect(builtIn.revoked == ["book"] && server.revoked == ["book"])
    #expect(builtIn.restores == [nil] && server.restores == [nil])
    #expect(builtIn.errors == [] && server.errors == [])
  }

  /// Buys, fails, asks, is interrupted, loses and restores products, one after the other.
  private func calls(_ shop: Shop) async throws -> CallRecorder.Calls {
    for product in ["book", "asked", "declined", "interrupted"] as [ProductIdentifier] {
      try shop.session.publish(product)
    }
    try shop.session.offer("club")
    let queue = try shop.launch()
    let recorder = CallRecorder()
    queue.add(recorder)
    for product in ["book", "club", "missing"] {
      queue.add(Payment(try ProductIdentifier(validating: product)))
      await recorder.wait { $0.isRemoved(product) }
    }
    try shop.deferPurchase(of: "asked")
    let asked = queue.add(Payment("asked"))
    await recorder.wait { $0.states["asked"]?.last == "deferred" }
    try await shop.approve(asked)
    await recorder.wait { $0.isRemoved("asked") }
    try shop.deferPurchase(of: "declined")
    let declined = queue.add(Payment("declined"))
    await recorder.wait { $0.states["declined"]?.last == "deferred" }
    try await shop.decline(declined)
    await recorder.wait { $0.isRemoved("declined") }
    try shop.interruptPurchase(of: "interrupted")
    let interrupted = queue.add(Payment("interrupted"))
    await recorder.wait { $0.isRemoved("interrupted") }
    try await shop.resolve(interrupted, of: "interrupted")
    await recorder.wait { $0.counts["removed"] == 7 }
    try await shop.refund("book")
    await recorder.wait { $0.revoked.count == 1 }
    queue.restoreCompletedTransactions()
    await recorder.wait { $0.restores.count == 1 && $0.counts["removed"] == 10 }
    queue.close()
    return recorder.calls
  }

  /// A session with the built-in service, or with a server.
  private struct Shop {
    let session: StoreSession
    let server: StoreServerSession?

    func launch() throws -> PaymentQueue {
      guard let server else { return try session.launch() }
      let configuration = try server.configuration()
      return try session.launch { $0 = configuration }
    }

    func deferPurchase(of product: ProductIdentifier) throws {
      if let server {
        try server.setDecision(.later, about: product, count: 1)
      } else {
        try session.setDecision(.later, about: product, count: 1)
      }
    }

    func approve(_ transaction: TransactionID) async throws {
      if let server {
        try server.approve(transaction)
      } else {
        try await session.approve(transaction)
      }
    }

    func decline(_ transaction: TransactionID) async throws {
      if let server {
        try server.decline(transaction)
      } else {
        try await session.decline(transaction)
      }
    }

    func interruptPurchase(of product: ProductIdentifier) throws {
      if let server {
        try server.setDecision(.interrupt, about: product, count: 1)
      } else {
        try session.setDecision(.interrupt, about: product, count: 1)
      }
    }

    func resolve(_ transaction: TransactionID, of product: ProductIdentifier) async throws {
      if let server {
        try server.approve(transaction)
      } else {
        try await session.resolveInterruption(of: product)
      }
    }

    func refund(_ product: ProductIdentifier) async throws {
      guard let server else { return try await session.refund(product) }
      let transaction = try server.transaction(of: product)
      if let transaction { try server.refund(transaction) }
    }
  }
}
