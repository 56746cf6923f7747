import HostedModel
import Foundation
import HostedContent
import HostedTestTraits
import Testing

/// Handles of an earlier queue of the same library.
@Suite("Transactions of an earlier queue", .timeLimit(.hang))
struct EarlierQueueTests {
  private let fixture: StoreFixture

  init() throws { fixture = try StoreFixture(publishing: "a", "1.0") }

  /// Returns a purchased transaction of a closed queue, and the next queue.
  private func purchase(_ product: String = "a") async throws -> (PaymentTransaction, PaymentQueue)
  {
    let earlier = try fixture.queue()
    let transaction = try await earlier.purchase(
      Payment(productIdentifier: try ProductIdentifier(validating: product)))
    earlier.close()
    return (transaction, try fixture.queue())
  }

  @Test("They are equal to those of the next queue")
  func equality() async throws {
    let (transaction, queue) = try await purchase()
    #expect(queue.transactions == [transaction])
    #expect(Set(queue.transactions + [transaction]).count == 1)
    let downloads = queue.transactions.flatMap(\.downloads)
    #expect(downloads == transaction.downloads)
    #expect(Set(downloads + transaction.downloads).count == 1)
    queue.close()
  }

  @Test("Finishing one waits until it is removed")
  func finish() async throws {
    let (transaction, queue) = try await purchase()
    try await queue.finish(transaction)
    #expect(queue.transactions.isEmpty)
    #expect(try fixture.reader().transactions().isEmpty)
    queue.close()
  }

  @Test("Installing one returns its folders")
  func install() async throws {
    let (transaction, queue) = try await purchase()
    let folders = try await queue.install(transaction)
    #expect(folders.map(\.lastPathComponent) == ["1.0"])
    try fixture.expectInstalled("a", "1.0")
    // It is installed, even if the handle of the earlier queue shows another state.
    #expect(try await queue.install(transaction) == folders)
    queue.close()
  }
}
