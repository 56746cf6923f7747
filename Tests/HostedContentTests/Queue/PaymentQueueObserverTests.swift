import HostedModel
import ContentStore
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Observers of the payment queue", .timeLimit(.hang))
struct PaymentQueueObserverTests {
  @Test("A later observer gets the unfinished transactions, and a removed one gets no more reports")
  func lateObserver() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let first = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: "a"))
    await first.wait { $0.transactionStates[id]?.last == .purchased }
    let late = RecordingObserver.delivering()
    // First, because the later observer finishes the transaction at any time after this.
    queue.remove(first)
    queue.add(late)
    await late.wait { $0.removed == [id] }
    #expect(late.log.transactionStates[id]?.first == .purchased)
    #expect(first.log.removed.isEmpty)
  }

  @Test("Observers are held weakly")
  func weakObservers() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    weak var gone: RecordingObserver?
    do {
      let observer = RecordingObserver()
      gone = observer
      queue.add(observer)
    }
    #expect(gone == nil)
    let observer = RecordingObserver.delivering(of: queue)
    let id = queue.add(Payment(productIdentifier: "a"))
    await observer.wait { $0.removed == [id] }
  }

  @Test("Observers may add, finish, cancel, remove themselves and block inside a callback")
  func reentrancy() async throws {
    let fixture = try StoreFixture()
    for name in ["a", "b", "c"] { try fixture.publish(name, "1.0") }
    let queue = try fixture.queue()
    let delivering = RecordingObserver.delivering()
    let added = Mutex(false)
    let gate = Gate()
    let meddler = RecordingObserver(onTransactions: { queue, transactions in
      gate.wait()
      let isFirst = added.withLock { added in
        defer { added = true }
        return !added
      }
      if isFirst { queue.add(Payment(productIdentifier: "c")) }
      queue.pause(transactions.flatMap(\.downloads))
      queue.resume(transactions.flatMap(\.downloads))
    })
    let leaver = SelfRemovingObserver()
    queue.add(delivering)
    queue.add(meddler)
    queue.add(leaver)
    for name in ["a", "b"] {
      queue.add(Payment(productIdentifier: try ProductIdentifier(validating: name)))
    }
    await gate.waitUntilReached()
    gate.open()
    await delivering.wait { $0.removed.count == 3 }
    for name in ["a", "b", "c"] { try fixture.expectInstalled(name, "1.0") }
    #expect(leaver.calls.withLock { $0 } == 1)
  }

  @Test("An observer that another one removes inside a callback is not called again")
  func removedByAnother() async throws {
    let fixture = try StoreFixture()
    let queue = try fixture.queue { $0.service = SilentService() }
    let observers = Mutex([RecordingObserver]())
    let pair = (0..<2).map { _ in
      // The observer that is called first removes all observers.
      RecordingObserver(onTransactions: { queue, _ in
        observers.withLock { $0 }.forEach(queue.remove)
      })
    }
    observers.withLock { $0 = pair }
    pair.forEach(queue.add)
    let id = queue.add(Payment(productIdentifier: "a"))
    await waitUntil { !queue.transactions.isEmpty }
    let last = RecordingObserver(of: queue)
    await last.wait { $0.transactions[id] != nil }
    #expect(pair.map { $0.log.calls.count }.reduce(0, +) == 1)
    observers.withLock { $0 = [] }
    queue.close()
  }

  @Test("An observer may be removed and added again inside a callback, and gets a full report")
  func readded() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let queue = try fixture.queue()
    let observer = ReturningObserver()
    queue.add(observer)
    queue.add(Payment(productIdentifier: "a"))
    await observer.second.wait { $0.transactionStates.values.contains { $0.contains(.purchased) } }
    #expect(queue.transactionObservers.count == 2)
    queue.close()
  }

  @Test("Observers are called on the configured delivery queue")
  func deliveryQueue() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let key = DispatchSpecificKey<String>()
    let chosen = DispatchQueue(label: "chosen")
    chosen.setSpecific(key: key, value: "chosen")
    let places = Mutex<Set<String>>([])
    let queue = try fixture.queue { $0.deliveryQueue = chosen }
    let delivering = RecordingObserver.delivering()
    let watcher = RecordingObserver(
      onTransactions: { _, _ in
        _ = places.withLock { $0.insert(DispatchQueue.getSpecific(key: key) ?? "elsewhere") }
      },
      onDownloads: { _, _ in
        _ = places.withLock { $0.insert(DispatchQueue.getSpecific(key: key) ?? "elsewhere") }
      })
    queue.add(watcher)
    queue.add(delivering)
    queue.add(Payment(productIdentifier: "a"))
    await delivering.wait { $0.removed.count == 1 }
    #expect(places.withLock { $0 } == ["chosen"])
    queue.close()
  }
}

/// Removes itself in its first call.
private final class SelfRemovingObserver: PaymentTransactionObserver {
  let calls = Mutex(0)

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    calls.withLock { $0 += 1 }
    queue.remove(self)
  }
}

/// Removes itself and adds another observer in its first call, then is added again.
private final class ReturningObserver: PaymentTransactionObserver {
  let second = RecordingObserver()
  private let calls = Mutex(0)

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    let isFirst = calls.withLock { calls in
      calls += 1
      return calls == 1
    }
    guard isFirst else { return }
    queue.remove(self)
    queue.add(second)
    queue.add(self)
  }
}
