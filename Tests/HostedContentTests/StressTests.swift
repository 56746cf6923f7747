import ContentModel
import Foundation
import HostedContent
import Concurrency
import TestSupport
import Testing

/// Many threads do everything at once that a queue allows.
///
/// `HOSTEDCONTENT_STRESS_SEED` replays what the threads wish, but not how the system interleaves
/// them.
@Suite("Under stress", .timeLimit(.minutes(10)))
struct StressTests {
  private static let products = (1...6).map { "p\($0)" }

  private static let seeds: [UInt64] = {
    if let seed = ProcessInfo.processInfo.environment["HOSTEDCONTENT_STRESS_SEED"] {
      return [UInt64(seed) ?? 0]
    }
    return (0..<(SlowTests.areOn ? 5 : 1)).map { _ in .random(in: 0...UInt64.max) }
  }()

  @Test(
    "Observers come, go and act from 16 threads while downloads run, and everything ends once",
    arguments: seeds)
  func threads(seed: UInt64) async throws {
    print("stress: seed \(seed)")
    let fixture = try StoreFixture()
    for product in Self.products { try fixture.publish(product, "1.0") }
    let delivery = DispatchQueue(label: "stress.delivery")
    let queue = try fixture.queue { $0.deliveryQueue = delivery }
    let witnesses = (0..<3).map { _ in Witness() }
    witnesses.forEach(queue.add)
    let finisher = RecordingObserver.delivering()
    queue.add(finisher)

    let crowd = Crowd(
      queue, products: try Self.products.map { try ProductIdentifier(validating: $0) },
      payments: SlowTests.areOn ? 300 : 40)
    await crowd.act(threads: 16, wishes: SlowTests.areOn ? 200 : 40, seed: seed)
    // A call to one that has just left may still be under way.
    await withCheckedContinuation { done in delivery.async { done.resume() } }
    // What was left paused, cancelled or failed goes on; what is purchased later, the finisher
    // starts.
    queue.start(queue.transactions.flatMap(\.downloads))
    let paid = crowd.paid
    #expect(paid.count > 16)
    await finisher.wait { $0.removed.count >= paid.count }
    await withCheckedContinuation { done in delivery.async { done.resume() } }
    queue.close()

    let logs = witnesses.map(\.log)
    for log in logs {
      #expect(log == logs[0], "seed \(seed): who stayed was told the same, in the same order")
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

/// Stays, does nothing, and remembers everything.
private final class Witness: PaymentTransactionObserver {
  struct Log: Equatable {
    var calls: [String] = []
    /// The states of each transaction, a repeated one once.
    var states: [TransactionID: [TransactionState]] = [:]
    var removals: [TransactionID: Int] = [:]
    /// Contents that were reported as installed.
    var installed: Set<String> = []
    /// What must not happen.
    var complaints: [String] = []
  }

  private let state = Mutex(Log())

  var log: Log { state.withLock { $0 } }

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    record { log in
      for transaction in transactions {
        let (id, now) = (transaction.id, transaction.transactionState)
        log.calls.append("\(id) \(now)")
        if log.states[id]?.last != now { log.states[id, default: []].append(now) }
        if log.removals[id] != nil { log.complaints.append("\(id) is told after its removal") }
      }
    }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    record { log in
      for download in downloads {
        let (id, now) = (download.id, download.state)
        log.calls.append("\(id) \(now) \(download.progress)")
        if log.removals[download.transaction.id] != nil {
          log.complaints.append("\(id) is told after its transaction's removal")
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
    let isAlone = state.withLockIfAvailable { change(&$0) } != nil
    if !isAlone { state.withLock { $0.complaints.append("two calls at the same time") } }
  }
}
