import Dispatch
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Observers that are released while other threads use the queue.
@Suite("Observers that are released at any time", .timeLimit(.hang))
struct ObserverReleaseTests {
  /// Removes itself when it is deallocated, as many programs for StoreKit do.
  private final class SelfRemoving: PaymentTransactionObserver {
    private let queue: PaymentQueue
    private let onRelease: @Sendable () -> Void

    init(_ queue: PaymentQueue, onRelease: @escaping @Sendable () -> Void = {}) {
      self.queue = queue
      self.onRelease = onRelease
    }

    deinit {
      queue.remove(self)
      onRelease()
    }

    func paymentQueue(_ queue: PaymentQueue, updatedTransactions _: [PaymentTransaction]) {}
  }

  @Test("An observer may remove itself in its deinit while other threads use the list of observers")
  func releaseBesideOthers() async throws {
    let delivery = DispatchQueue(label: "release.delivery")
    let queue = try StoreFixture().queue { $0.deliveryQueue = delivery }
    let released = Atomic(0)
    let batches = SlowTests.areOn ? 20 : 2
    let stays = RecordingObserver(of: queue)
    await onOwnThread {
      for _ in 0..<batches {
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
          for _ in 0..<500 {
            if thread % 2 == 0 {
              queue.add(SelfRemoving(queue) { released.add(1, ordering: .relaxed) })
            } else {
              queue.add(stays)
              _ = queue.transactionObservers.count
            }
          }
        }
        // The report to a new observer is pending there, and retains the observer.
        delivery.sync {}
      }
    }
    #expect(released.load(ordering: .relaxed) == batches * 1_000)
    #expect(queue.transactionObservers.count == 1)
    queue.close()
  }

  @Test("An observer at the address of a released one is added and called")
  func reusedAddress() throws {
    let queue = try StoreFixture().queue()
    for _ in 0..<100 {
      let observer = RecordingObserver(of: queue)
      #expect(queue.transactionObservers.contains { $0 === observer })
    }
    queue.close()
  }

  @Test("An observer that removes itself in its first call is not called again")
  func removedInFirstCall() async throws {
    let fixture = try StoreFixture(publishing: "book", "1.0")
    let delivery = DispatchQueue(label: "release.delivery")
    let queue = try fixture.queue { $0.deliveryQueue = delivery }
    let first = RecordingObserver(of: queue)
    queue.add(Payment(productIdentifier: "book"))
    await first.wait { $0.downloads.count == 1 }
    let once = LeavesAtOnce()
    queue.add(once)
    await once.wait()
    await withCheckedContinuation { done in delivery.async { done.resume() } }
    #expect(once.calls == ["updatedTransactions"])
    queue.close()
  }

  private final class LeavesAtOnce: PaymentTransactionObserver {
    private let state = Mutex((calls: [String](), waiter: CheckedContinuation<Void, Never>?.none))

    var calls: [String] { state.withLock { $0.calls } }

    func wait() async {
      await withCheckedContinuation { continuation in
        let isCalled = state.withLock { state in
          if state.calls.isEmpty { state.waiter = continuation }
          return !state.calls.isEmpty
        }
        if isCalled { continuation.resume() }
      }
    }

    private func note(_ call: String) {
      let waiter = state.withLock { state in
        state.calls.append(call)
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume()
    }

    func paymentQueue(_ queue: PaymentQueue, updatedTransactions _: [PaymentTransaction]) {
      queue.remove(self)
      note("updatedTransactions")
    }

    func paymentQueue(_ queue: PaymentQueue, updatedDownloads _: [Download]) {
      note("updatedDownloads")
    }
  }
}
