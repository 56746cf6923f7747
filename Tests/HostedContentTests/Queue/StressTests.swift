import HostedModel
import Foundation
import HostedContent
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

/// Many threads use all functions of a queue at the same time.
///
/// `HOSTEDCONTENT_SEED` repeats the threads' requests, but not their interleaving.
@Suite("Stress", .timeLimit(.hang))
struct StressTests {
  private static let products = (1...6).map { "p\($0)" }

  private static let seeds: [UInt64] = {
    let first = SlowTests.seed(of: "stress")
    return (0..<UInt64(SlowTests.areOn ? 5 : 1)).map { first + $0 }
  }()

  @Test(
    "16 threads add, remove and use observers during downloads, and each transaction ends once",
    .slow,
    arguments: seeds)
  func threads(seed: UInt64) async throws {
    print("stress: seed \(seed)")
    let fixture = try StoreFixture()
    for product in Self.products { try fixture.publish(product, "1.0") }
    let delivery = DispatchQueue(label: "stress.delivery")
    let queue = try fixture.queue { $0.deliveryQueue = delivery }
    let witnesses = (0..<3).map { _ in Witness() }
    witnesses.forEach(queue.add)
    let finisher = RecordingObserver.delivering(of: queue)

    let crowd = Crowd(
      queue, products: try Self.products.map { try ProductIdentifier(validating: $0) },
      payments: SlowTests.areOn ? 300 : 40)
    await crowd.act(threads: 16, requests: SlowTests.areOn ? 200 : 40, seed: seed)
    // A call to a removed observer may still be in progress.
    await withCheckedContinuation { done in delivery.async { done.resume() } }
    // Start downloads that are paused, cancelled or failed; the finisher starts later purchases.
    queue.start(queue.transactions.flatMap(\.downloads))
    let paid = crowd.paid
    #expect(paid.count > 16)
    await finisher.wait { $0.removed.count >= paid.count }
    await withCheckedContinuation { done in delivery.async { done.resume() } }
    queue.close()

    let logs = witnesses.map(\.log)
    for log in logs {
      #expect(log == logs[0], "seed \(seed): permanent observers differ")
      #expect(log.complaints == [], "seed \(seed)")
      #expect(log.removals.keys.sorted() == paid.sorted(), "seed \(seed)")
      #expect(log.removals.values.allSatisfy { $0 == 1 }, "seed \(seed): each is removed once")
      for (id, states) in log.states {
        #expect(states == [.purchasing, .purchased], "seed \(seed): \(id)")
      }
    }
    let refusals = Set(finisher.log.errors.map(\.code))
    #expect(refusals.isSubset(of: [.cannotFinish]), "seed \(seed)")
    for product in logs[0].installed { try fixture.expectInstalled(product, "1.0") }
    #expect(try fixture.staged() == [], "seed \(seed)")
    #expect(try fixture.reader().transactions().isEmpty, "seed \(seed)")
  }
}

/// A permanent observer that only records.
private final class Witness: PaymentTransactionObserver {
  struct Log: Equatable {
    var calls: [String] = []
    /// The states of each transaction, without repetitions.
    var states: [TransactionID: [TransactionState]] = [:]
    var removals: [TransactionID: Int] = [:]
    /// Contents that were reported as installed.
    var installed: Set<String> = []
    /// Violations of the rules.
    var complaints: [String] = []
  }

  private let state = Mutex(Log())
  private let isCalled = Atomic(false)

  var log: Log { state.withLock { $0 } }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    record { log in
      for transaction in transactions {
        let (id, now) = (transaction.id, transaction.transactionState)
        log.calls.append("\(id) \(now)")
        if log.states[id]?.last != now { log.states[id, default: []].append(now) }
        if log.removals[id] != nil { log.complaints.append("\(id) is reported after its removal") }
      }
    }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    record { log in
      for download in downloads {
        let (id, now) = (download.id, download.state)
        log.calls.append("\(id) \(now) \(download.progress)")
        if log.removals[download.transaction.id] != nil {
          log.complaints.append("\(id) is reported after its transaction's removal")
        }
        if (download.contentURL != nil) != (now == .finished) {
          log.complaints.append("\(id) is \(now), with the content of another state")
        }
        if let url = download.contentURL {
          log.installed.insert(download.contentIdentifier.rawValue)
          let plist = url.appending(path: "ContentInfo.plist").path(percentEncoded: false)
          if access(plist, R_OK) != 0 { log.complaints.append("\(id) is finished, not there") }
        }
        if download.state != now { log.complaints.append("\(id) moves during a call") }
      }
    }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    record { log in
      for transaction in transactions {
        log.calls.append("\(transaction.id) removed")
        log.removals[transaction.id, default: 0] += 1
      }
    }
  }

  private func record(_ change: (inout Log) -> Void) {
    let isAlone = !isCalled.exchange(true, ordering: .acquiringAndReleasing)
    state.withLock { log in
      if isAlone { change(&log) } else { log.complaints.append("two calls at the same time") }
    }
    if isAlone { isCalled.store(false, ordering: .releasing) }
  }
}
