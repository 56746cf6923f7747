import HostedModel
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContent

/// Many tasks, each waiting for one transaction.
@Suite("Concurrent calls of deliver", .timeLimit(.hang))
struct ConcurrentDeliverTests {
  @Test("Many concurrent calls for an installed product each return the folder", .slow)
  func installedAlready() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let payment = Payment(productIdentifier: "a")
    let folders = try await queue.deliver(payment)
    let count = SlowTests.count(3_000, all: 10_000)
    try await withThrowingTaskGroup(of: [URL].self) { group in
      for _ in 0..<count { group.addTask { try await queue.deliver(payment) } }
      for try await found in group { #expect(found == folders) }
    }
    #expect(queue.transactions.isEmpty)
    queue.close()
  }
}
