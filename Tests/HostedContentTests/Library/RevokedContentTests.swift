import HostedModel
import Foundation
@testable import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Installed content of revoked products", .timeLimit(.hang))
struct RevokedContentTests {
  private let fixture: StoreFixture
  private let service: ScriptedService
  private let a = ProductIdentifier("a")

  init() async throws {
    fixture = try StoreFixture()
    for name in ["a", "b"] { try fixture.publish(name, "1.0") }
    service = ScriptedService(
      try await StoreReader(StoreLocation(fixture.storePath)).products().products)
  }

  private func queue(
    _ policy: RevokedContentPolicy = .remove,
    _ change: (inout PaymentQueue.Configuration) -> Void = { _ in }
  ) throws -> PaymentQueue {
    try fixture.queue {
      $0.service = service
      $0.revokedContent = policy
      change(&$0)
    }
  }

  private func install(_ product: String, account: AccountID? = nil, _ queue: PaymentQueue)
    async throws
  {
    let product = try ProductIdentifier(validating: product)
    _ = try await queue.deliver(Payment(productIdentifier: product, applicationUsername: account))
  }

  private func installed() throws -> [String] {
    try fixture.reader().contents().map(\.content.contentIdentifier.rawValue)
  }

  /// Revokes product `a` at the service, and returns when the queue has journaled it.
  private func revoke(from account: AccountID? = nil, _ queue: PaymentQueue) async throws {
    service.revoke(a, from: account)
    service.send(.revoked(Revocation([a], account: account)), cursor: "revoked")
    try await waitUntil { try queue.engine.journal.readQueue().storeCursor == "revoked" }
  }

  /// Returns when the queue has decided about all revoked products.
  private func waitForDecision(_ queue: PaymentQueue) async throws {
    try await waitUntil { try queue.engine.journal.revokedProducts().isEmpty }
  }

  @Test("It is removed with the policy, and observers learn about the revocation")
  func removed() async throws {
    let queue = try queue()
    let observer = RecordingObserver(of: queue)
    for name in ["a", "b"] { try await install(name, queue) }
    try await revoke(queue)
    await observer.wait { $0.revoked == [ProductIdentifier("a")] }
    try await waitForDecision(queue)
    #expect(try installed() == ["b"])
    queue.close()
  }

  @Test("It stays without the policy, and nothing is removed later")
  func kept() async throws {
    let first = try queue(.keep)
    try await install("a", first)
    try await revoke(first)
    first.close()
    let second = try queue()
    try await install("b", second)
    try await waitForDecision(second)
    #expect(try installed() == ["a", "b"])
    second.close()
  }

  @Test("It stays while another account of the library has a grant, and is removed with the last")
  func otherAccount() async throws {
    let queue = try queue()
    try await install("a", queue)
    try await install("a", account: "ada", queue)
    try await revoke(queue)
    try await waitForDecision(queue)
    #expect(try installed() == ["a"])
    service.revoke(a, from: "ada")
    service.send(.revoked(Revocation([a], account: "ada")))
    try await waitUntil { try installed().isEmpty }
    queue.close()
  }

  @Test("A product that is revoked again is not forgotten with the first revocation")
  func again() async throws {
    let queue = try queue()
    try await install("a", queue)
    service.holdGrants()
    service.send(.revoked(Revocation([a])))
    // The account still has a grant, such as of a second purchase.
    await waitUntil { service.heldCount == 1 }
    try await revoke(queue)
    await waitUntil { service.heldCount == 2 }
    var events = queue.diagnosticEvents().makeAsyncIterator()
    service.releaseGrants()
    while let event = await events.next(), event.name != "revoked product handled" {}
    // A restart would continue.
    #expect(try queue.engine.journal.revokedProducts() == [a])
    #expect(try installed() == ["a"])
    service.releaseGrants()
    try await waitForDecision(queue)
    #expect(try installed().isEmpty)
    queue.close()
  }

  @Test("A leased version stays, and is removed by a retry after the lease ends")
  func leased() async throws {
    let (delays, began) = AsyncStream.makeStream(of: Duration.self)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let queue = try queue {
      $0.environment.random = { 0.5 }
      $0.environment.sleep = { delay in
        began.yield(delay)
        for await _ in ends { return }
      }
    }
    try await install("a", queue)
    var next = delays.makeAsyncIterator()
    do {
      let lease = try fixture.reader().lease(a)
      try await revoke(queue)
      #expect(await next.next() == .seconds(0.5))
      end.yield()
      #expect(await next.next() == .seconds(1))
      #expect(FileManager.default.fileExists(atPath: lease.url.path()))
      #expect(try queue.engine.journal.revokedProducts() == [a])
      withExtendedLifetime(lease) {}
    }
    end.yield()
    try await waitForDecision(queue)
    #expect(try installed().isEmpty)
    queue.close()
  }

  @Test("A removal that was not possible is completed after a restart")
  func restarted() async throws {
    let first = try queue()
    try await install("a", first)
    do {
      let lease = try fixture.reader().lease(a)
      try await revoke(first)
      first.close()
      #expect(FileManager.default.fileExists(atPath: lease.url.path()))
      withExtendedLifetime(lease) {}
    }
    let second = try queue()
    try await waitForDecision(second)
    #expect(try installed().isEmpty)
    second.close()
  }
}
