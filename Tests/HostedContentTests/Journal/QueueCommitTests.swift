@testable import HostedJournal
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Commits of several events", .timeLimit(.hang))
struct QueueCommitTests {
  private let fixture: StoreFixture
  private let gate = JournalGate()

  init() throws { fixture = try StoreFixture() }

  private func queue() throws -> PaymentQueue {
    try fixture.queue {
      $0.fileSystem = gate.fileSystem
      $0.service = ReceiptService()
    }
  }

  @Test("A receipt is readable in callbacks, after a restart, and once the transaction is finished")
  func receipts() async throws {
    let service = ReceiptService()
    let read = Mutex([String?]())
    do {
      let queue = try fixture.queue { $0.service = service }
      defer { queue.close() }
      let observer = RecordingObserver(onTransactions: { _, transactions in
        for transaction in transactions where transaction.transactionState == .purchased {
          read.withLock { $0.append(try? transaction.transactionReceipt()) }
        }
      })
      queue.add(observer)
      queue.add(Payment(productIdentifier: "a"))
      await observer.wait { $0.transaction(of: "a")?.transactionState == .purchased }
      withExtendedLifetime(queue) {}
    }
    #expect(read.withLock { $0 } == ["signed a"])
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    await observer.wait { !$0.transactions.isEmpty }
    let transaction = try #require(observer.log.transaction(of: "a"))
    #expect(try await transaction.transactionReceipt() == "signed a")
    queue.finishTransaction(transaction)
    await observer.wait { !$0.removed.isEmpty }
    #expect(try await transaction.transactionReceipt() == "signed a")
    queue.restoreCompletedTransactions()
    await observer.wait { $0.transactions.count == 2 }
    let restored = try #require(queue.transactions.first)
    #expect(try await restored.transactionReceipt() == "signed a")
    #expect(restored.original?.transactionIdentifier == transaction.transactionIdentifier)
  }

  @Test("Payments that wait together share a commit, and are reported in order")
  func together() async throws {
    let queue = try queue()
    let observer = RecordingObserver.delivering(of: queue)
    gate.close()
    let ids = try (0..<100).map {
      queue.add(Payment(productIdentifier: try ProductIdentifier(validating: "p\($0)")))
    }
    await gate.waitForCommit()
    gate.open()
    await observer.wait { $0.removed.count == 100 }
    #expect(gate.commits < 150, "\(gate.commits) commits of 300 events")
    for id in ids {
      #expect(observer.log.transactionStates[id] == [.purchasing, .purchased])
    }
    #expect(observer.log.errors.isEmpty)
  }

  @Test("A call that waits for a transaction's end gets the error if it cannot be journaled")
  func finishFailing() async throws {
    let queue = try queue()
    let transaction = try await queue.purchase(Payment(productIdentifier: "p"))
    gate.open(failing: [gate.commits + 1])
    let error = await #expect(throws: ContentError.self) { try await queue.finish(transaction) }
    #expect(error?.code == .diskFull)
    try await queue.finish(transaction)
    #expect(queue.transactions.isEmpty)
  }

  @Test("If a group commit fails, each payment is journaled or fails alone")
  func togetherFailing() async throws {
    let queue = try queue()
    let observer = RecordingObserver(of: queue)
    gate.close()
    var ids = [queue.add(Payment(productIdentifier: "p0"))]
    await gate.waitForCommit()
    for number in 1..<10 {
      ids.append(
        queue.add(Payment(productIdentifier: try ProductIdentifier(validating: "p\(number)"))))
    }
    // The first alone, then the other nine together, then one at a time.
    gate.open(failing: [2, 4])
    let all = ids
    await observer.wait { log in
      all.allSatisfy { [.purchased, .failed].contains(log.transactionStates[$0]?.last) }
    }
    let expected = ids[2]
    let failed = ids.filter { observer.log.transactionStates[$0]?.last == .failed }
    #expect(failed == [expected])
    #expect(observer.log.errors.count == 1)
    #expect(observer.log.transactions[expected]?.error?.code == .diskFull)
    queue.close()
    // Exactly the reported transactions are durable.
    let kept = try fixture.reader().transactions().map(\.id)
    #expect(kept == ids.filter { $0 != expected })
  }
}

/// A service that grants everything at once, without content, and signs receipts.
private final class ReceiptService: PartialService {
  private let sold = Mutex([Grant]())

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    ProductsResponse(
      products: identifiers.map {
        Product(
          productIdentifier: $0, type: .nonConsumable, texts: [:], price: nil,
          contents: [])
      })
  }
  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    let grant = Grant(
      order.transaction.rawValue, order.payment,
      receipt: "signed \(order.payment.productIdentifier)")
    sold.withLock { $0.append(grant) }
    return .purchased(grant, contents: [])
  }
  func grants(account: AccountID?) async throws -> [Grant] { sold.withLock { $0 } }
}

/// A journal that blocks the first commit after it is closed, and counts commits.
///
/// Events submitted meanwhile wait together.
private final class JournalGate: Sendable {
  private let state = Watched((isClosed: false, commits: 0, failing: Set<Int>()))

  var commits: Int { state.value.commits }

  func close() { state.change { $0 = (true, 0, []) } }

  /// Returns when the engine is blocked.
  func waitForCommit() async { await state.wait { $0.commits > 0 } }

  /// Releases commits; those with these numbers, counted from 1 since it was closed, fail.
  func open(failing numbers: Set<Int> = []) {
    state.change { ($0.isClosed, $0.failing) = (false, numbers) }
  }

  var fileSystem: FileSystem {
    FileSystem { [self] operation, _ in
      guard operation == .journal else { return }
      let number = state.change { state in
        state.commits += 1
        return state.commits
      }
      state.block { !$0.isClosed }
      if state.value.failing.contains(number) { throw FaultPlan.diskFull }
    }
  }
}
