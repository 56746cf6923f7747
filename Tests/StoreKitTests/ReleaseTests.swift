import Foundation
import HostedContentTesting
import HostedConcurrency
import StoreKit
import HostedTestSupport
import HostedTestTraits
import Testing

/// Objects that are released while other threads ask for them.
@Suite("Objects that are released at any time", .timeLimit(.hang))
struct ReleaseTests {
  @Test("Four threads may read the queue's transactions and downloads and release them")
  func transactions() async throws {
    let fixture = try KitFixture()
    try fixture.session.publish("book")
    let observer = KitObserver()
    fixture.queue.add(observer)
    fixture.queue.add(fixture.payment("book"))
    await observer.wait { !$0.downloads.isEmpty }
    fixture.queue.remove(observer)
    observer.forget()
    let queue = fixture.queue
    let rounds = SlowTests.areOn ? 20_000 : 1_000
    let seen = Atomic(0)
    await onOwnThread {
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<rounds {
          seen.add(queue.transactions.flatMap(\.downloads).count, ordering: .relaxed)
        }
      }
    }
    #expect(seen.load(ordering: .relaxed) == 4 * rounds)
    queue.close()
  }

  private final class SelfRemoving: NSObject, SKPaymentTransactionObserver {
    private let queue: SKPaymentQueue
    init(_ queue: SKPaymentQueue) { self.queue = queue }
    deinit { queue.remove(self) }
    func paymentQueue(
      _ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]
    ) {}
  }

  @Test("An observer may remove itself in its deinit while other threads use the list of observers")
  func observers() async throws {
    let queue = try KitFixture().queue
    let stays = KitObserver()
    queue.add(stays)
    let batches = SlowTests.areOn ? 20 : 2
    await onOwnThread {
      for _ in 0..<batches {
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
          for _ in 0..<500 {
            if thread % 2 == 0 {
              queue.add(SelfRemoving(queue))
            } else {
              queue.add(stays)
              _ = queue.transactionObservers.count
            }
          }
        }
      }
    }
    #expect(queue.transactionObservers.count == 1)
    queue.close()
  }
}
