import Foundation
import HostedContentTesting
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Queues that buy from a store server", .waiting, .timeLimit(.hang))
struct StoreServerQueueTests {
  /// Publishes products with content, and starts a server.
  private func server(_ products: ProductIdentifier...) throws -> StoreServerSession {
    let session = try StoreSession()
    for product in products { try session.publish(product) }
    return try StoreServerSession(session)
  }

  @Test("Two machines buy, restore and finish, each account on both")
  func machines() async throws {
    let server = try server("book", "map", "film")
    let first = try Machine(server, "first", delivers: false)
    let second = try Machine(server, "second", delivers: false)
    _ = try await first.queue.deliver(Payment("book"))
    _ = try await first.queue.deliver(Payment("map", account: "ada"))
    let own = try await second.queue.restore()
    #expect(own.map(\.payment.productIdentifier) == ["book"])
    let adas = try await second.queue.restore(withApplicationUsername: "ada")
    #expect(adas.filter { $0.payment.applicationUsername == "ada" }.count == 1)
    for transaction in second.queue.transactions {
      #expect(try await second.queue.install(transaction).count == 1)
      try await second.queue.finish(transaction)
    }
    _ = try await second.queue.deliver(Payment("film"))
    for product in ["book", "map", "film"] as [ProductIdentifier] {
      #expect(try await second.queue.installedVersion(of: product) == "1.0")
    }
    #expect(
      try await first.queue.restore().map(\.payment.productIdentifier).sorted() == ["book", "film"])
    #expect(try await first.queue.grants(account: "ada").count == 1)
    // Finishes are sent after the queue has removed a transaction.
    try await waitUntil {
      try (server.purchases() + server.purchases(account: "ada")).allSatisfy(\.isFinished)
    }
    #expect(try server.purchases().map(\.productIdentifier) == ["book", "film"])
    #expect(try server.purchases(account: "ada").map(\.state) == [.purchased])
    #expect(server.errors.isEmpty)
    first.queue.close()
    second.queue.close()
  }

  @Test("A deferred purchase waits for the decision at the server", arguments: [true, false])
  func askToBuy(isApproved: Bool) async throws {
    let server = try server("book")
    try server.setDecision(.later, about: "book", count: 1)
    let machine = try Machine(server)
    let id = machine.queue.add(Payment("book"))
    await machine.recorder.wait { $0.states["book"]?.last == "deferred" }
    if isApproved { try server.approve(id) } else { try server.decline(id, reason: "Too late") }
    await machine.recorder.wait { $0.isRemoved("book") }
    let states = machine.recorder.calls.states["book"] ?? []
    #expect(states.prefix(3) == ["purchasing", "deferred", isApproved ? "purchased" : "failed"])
    let failure: ContentError.Code? = isApproved ? nil : .purchaseDeclined
    #expect(machine.recorder.calls.failures["book"] == failure)
    let version: ContentVersion? = isApproved ? "1.0" : nil
    #expect(try await machine.queue.installedVersion(of: "book") == version)
    let state: StoreServerSession.Purchase.State = isApproved ? .purchased : .failed
    #expect(try server.purchases().map(\.state) == [state])
  }

  @Test("An interrupted purchase fails, and is delivered after it was approved")
  func interrupted() async throws {
    let server = try server("book")
    try server.setDecision(.interrupt, about: "book", count: 1)
    let machine = try Machine(server)
    let id = machine.queue.add(Payment("book"))
    await machine.recorder.wait { $0.isRemoved("book") }
    #expect(machine.recorder.calls.failures["book"] == .purchaseInterrupted)
    #expect(try server.purchases().map(\.state) == [.failed])
    try server.approve(id)
    await machine.recorder.wait { $0.counts["removed"] == 2 }
    #expect(
      machine.recorder.calls.states["book"] == [
        "purchasing", "failed", "removed", "purchased", "download waiting", "download active",
        "download finished", "removed",
      ])
    #expect(try await machine.queue.installedVersion(of: "book") == "1.0")
    #expect(try server.purchases().map(\.state) == [.purchased])
    #expect(machine.recorder.calls.errors.isEmpty)
  }

  @Test("An approval after an interruption is delivered only where it was ordered, once")
  func interruptedElsewhere() async throws {
    let server = try server("book", "map")
    try server.setDecision(.interrupt, about: "book", count: 1)
    let other = try Machine(server, "other")
    other.queue.add(Payment("map"))
    await other.recorder.wait { $0.isRemoved("map") }
    let first = try Machine(server, "first")
    let id = first.queue.add(Payment("book"))
    await first.recorder.wait { $0.isRemoved("book") }
    first.queue.close()
    // The library knows its failed order after a restart too.
    let second = try Machine(server, "first")
    try server.approve(id)
    await second.recorder.wait { $0.isRemoved("book") }
    #expect(try await second.queue.installedVersion(of: "book") == "1.0")
    // Events are in order, so that the other queue has passed the approval after this one.
    try server.refund(try #require(try server.transaction(of: "map")))
    await other.recorder.wait { $0.revoked == ["map"] }
    await second.recorder.wait { $0.revoked == ["map"] }
    #expect(other.recorder.calls.states["book"] == nil)
    #expect(second.recorder.calls.counts["removed"] == 1)
    other.queue.close()
    second.queue.close()
  }

  @Test("Observers learn about refunds and revocations, and content stays installed by default")
  func revoked() async throws {
    let server = try server("book", "map")
    let machine = try Machine(server, delivers: false)
    for product in ["book", "map"] as [ProductIdentifier] {
      _ = try await machine.queue.deliver(Payment(product))
    }
    try server.refund(try #require(try server.transaction(of: "book")), reason: "Bought twice")
    await machine.recorder.wait { $0.revoked == ["book"] }
    try server.revoke(try #require(try server.transaction(of: "map")))
    await machine.recorder.wait { $0.revoked == ["book", "map"] }
    #expect(try server.purchases().map(\.state) == [.refunded, .revoked])
    #expect(try await machine.queue.grants().isEmpty)
    #expect(try await machine.queue.restore().isEmpty)
    #expect(try await machine.queue.installedVersion(of: "book") == "1.0")
    try server.reverse(try #require(try server.transaction(of: "map")))
    #expect(try await machine.queue.restore().map(\.payment.productIdentifier) == ["map"])
  }

  @Test("With the policy remove, content goes with the last grant, and after the last lease", .slow)
  func removed() async throws {
    let server = try server("book", "map")
    let machine = try Machine(server, delivers: false) { $0.revokedContent = .remove }
    let queue = machine.queue
    _ = try await queue.deliver(Payment("book"))
    _ = try await queue.deliver(Payment("book", account: "ada"))
    try server.refund(try #require(try server.transaction(of: "book")))
    await machine.recorder.wait { $0.revoked.count == 1 }
    // The queue has asked for the grants of the other account.
    await waitUntil { server.requests.contains { $0.hasPrefix("GET /v1/accounts/ada/") } }
    _ = try await queue.deliver(Payment("map"))
    #expect(try await queue.installedVersion(of: "book") == "1.0")
    do {
      let lease = try await queue.lease("book")
      try server.refund(try #require(try server.transaction(of: "book", account: "ada")))
      await machine.recorder.wait { $0.revoked.count == 2 }
      _ = try await queue.deliver(Payment("map"))
      #expect(FileManager.default.fileExists(atPath: lease.url.path()))
      withExtendedLifetime(lease) {}
    }
    try await waitUntil { try queue.installedVersion(of: "book") == nil }
    #expect(try await queue.installedVersion(of: "map") == "1.0")
    queue.close()
  }

  @Test("A purchase waits while the server cannot be reached, and is then sold once")
  func unreachable() async throws {
    let server = try server("book")
    let machine = try Machine(server)
    server.stop()
    let id = machine.queue.add(Payment("book"))
    await machine.recorder.wait { $0.states["book"] == ["purchasing"] }
    #expect(try server.purchases().isEmpty)
    try server.start()
    await machine.recorder.wait { $0.isRemoved("book") }
    #expect(try server.purchases().map(\.transaction) == [id])
    #expect(try server.events().filter { $0.kind == .purchased }.count == 1)
  }

  @Test("A killed queue repeats its purchases, which are sold once")
  func killed() async throws {
    let server = try server("book")
    let session = server.session
    let configuration = try server.configuration()
    server.stop()
    let queue = try session.launch { $0 = configuration }
    let recorder = CallRecorder()
    queue.add(recorder)
    let id = queue.add(Payment("book"))
    await recorder.wait { $0.states["book"] == ["purchasing"] }
    try server.start()
    let next = try session.relaunch { $0 = configuration }
    next.add(recorder)
    await recorder.wait { $0.isRemoved("book") }
    #expect(try server.purchases().map(\.transaction) == [id])
  }

  @Test("Events continue at the stored cursor after a launch: none is lost, none is repeated")
  func events() async throws {
    let server = try server("book", "map", "film", "club")
    let first = try Machine(server, delivers: false)
    for product in ["book", "map", "film"] as [ProductIdentifier] {
      _ = try await first.queue.deliver(Payment(product))
    }
    try server.refund(try #require(try server.transaction(of: "map")))
    await first.recorder.wait { $0.revoked == ["map"] }
    // The cursor is journaled before the queue has finished this purchase.
    _ = try await first.queue.deliver(Payment("club"))
    first.queue.close()
    try server.revoke(try #require(try server.transaction(of: "book")))
    let second = try Machine(server, delivers: false)
    await second.recorder.wait { !$0.revoked.isEmpty }
    try server.refund(try #require(try server.transaction(of: "film")))
    await second.recorder.wait { $0.revoked.count == 2 }
    #expect(second.recorder.calls.revoked == ["book", "film"])
  }

  @Test("Receipts are verified with the server's key, and refused with another")
  func receipts() async throws {
    let server = try server("book")
    let machine = try Machine(server, "first", delivers: false)
    let transaction = try await machine.queue.purchase(Payment("book", account: "ada"))
    let text = try #require(try await transaction.transactionReceipt())
    let receipt = try ReceiptVerifier(keys: [server.receiptKey]).verify(
      text, account: "ada", now: server.session.clock.now)
    #expect(receipt.productIdentifier == "book" && receipt.contentVersion == "1.0")
    #expect(receipt.transactionIdentifier == transaction.id.rawValue)
    let stranger = try ReceiptSigningKey.generate(.es256).verificationKey
    let other = try Machine(server, "second", delivers: false) {
      $0.receiptVerifier = ReceiptVerifier(keys: [stranger])
    }
    let error = await #expect(throws: ContentError.self) {
      try await other.queue.purchase(Payment("book"))
    }
    #expect(error?.code == .receiptInvalid)
    #expect(try await other.queue.grants(account: "ada").isEmpty)
  }

  @Test("Payments that wait together are sold with few requests", .slow)
  func batches() async throws {
    let server = try StoreServerSession(try StoreSession())
    try server.session.offer("coin", details: ProductDetails(type: .consumable))
    let machine = try Machine(server)
    server.stop()
    for _ in 1...64 { machine.queue.add(Payment("coin")) }
    await machine.recorder.wait { $0.counts["purchasing"] == 64 }
    try server.start()
    await machine.recorder.wait { $0.counts["removed"] == 64 }
    let purchases = server.requests.filter {
      $0.hasPrefix("POST /v1/purchases") && !$0.contains("/finish")
    }
    #expect(purchases.count <= 3, "\(purchases)")
    #expect(try server.purchases().count == 64)
    try await waitUntil { try server.purchases().allSatisfy(\.isFinished) }
    machine.queue.close()
  }
}
