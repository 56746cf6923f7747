import HostedModel
import Foundation
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContent

/// An outcome that cannot be journaled is not reported until it is durable.
@Suite("Outcomes that cannot be journaled", .timeLimit(.hang))
struct UnwrittenJournalTests {
  private let fixture: StoreFixture
  private let product = ProductIdentifier("a")

  init() throws { fixture = try StoreFixture() }

  private var journalPath: String { "\(fixture.libraryPath)/journal.sqlite" }

  private func purchased(_ id: TransactionID) -> PurchaseOutcome {
    .purchased(Grant(id.rawValue, Payment(productIdentifier: product)), contents: [])
  }

  private static let refusal = ContentError(.notEntitled, "Refused", remedy: "Ask again")

  @Test(arguments: [true, false])
  func `a response that cannot be journaled is retried, and the transaction stays purchasing`(
    isPurchased: Bool
  ) async throws {
    let disk = FullDisk()
    let service = AnsweringService { id in
      disk.set(true)
      return isPurchased ? self.purchased(id) : .failed(Self.refusal)
    }
    let queue = try fixture.queue {
      $0.service = service
      $0.fileSystem = disk.fileSystem
    }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.first?.code == .diskFull)
    #expect(observer.log.transactionStates[id] == [.purchasing])
    // It cannot be finished before its outcome is durable.
    queue.finishTransaction(try #require(observer.log.transactions[id]))
    await observer.wait { $0.errors.count == 2 || $0.transactionStates[id]?.count != 1 }
    #expect(observer.log.errors.last?.code == .cannotFinish)
    disk.set(false)
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    #expect(
      observer.log.transactionStates[id] == [.purchasing, isPurchased ? .purchased : .failed])
    #expect(service.asked == [id])
    queue.close()
    #expect(
      try fixture.reader().transactions().map(\.state) == [isPurchased ? .purchased : .failed])
  }

  @Test func `a payment that cannot be journaled is reported as purchasing, then as failed`()
    async throws
  {
    let disk = FullDisk()
    let queue = try fixture.queue { $0.fileSystem = disk.fileSystem }
    let observer = RecordingObserver(of: queue)
    disk.set(true)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.transactionStates[id]?.last == .failed }
    #expect(observer.log.transactionStates[id] == [.purchasing, .failed])
    queue.close()
  }

  @Test func `after a restart a purchase that was not journaled is sent again`()
    async throws
  {
    let disk = FullDisk()
    let service = AnsweringService { id in
      disk.set(true)
      return self.purchased(id)
    }
    var queue = try fixture.queue {
      $0.service = service
      $0.fileSystem = disk.fileSystem
    }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { !$0.errors.isEmpty }
    queue.close()
    #expect(observer.log.transactionStates[id] == [.purchasing])
    let again = AnsweringService { self.purchased($0) }
    queue = try fixture.queue { $0.service = again }
    let later = RecordingObserver(of: queue)
    await later.wait { $0.transactionStates[id]?.last == .purchased }
    #expect(again.asked == [id])
  }

  @Test func `the next successful commit also saves the held outcome`() async throws {
    let disk = FullDisk()
    let isFirst = Mutex(true)
    let service = AnsweringService { id in
      let isFirst = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      if isFirst { disk.set(true) }
      return self.purchased(id)
    }
    let queue = try fixture.queue {
      $0.service = service
      $0.fileSystem = disk.fileSystem
      // Timers never fire, so only another event can retry the commit.
      $0.environment.execution = StoppedClock()
    }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { !$0.errors.isEmpty }
    disk.set(false)
    let second = queue.add(Payment(productIdentifier: product))
    await observer.wait { log in
      [id, second].allSatisfy { [.purchased, .failed].contains(log.transactionStates[$0]?.last) }
    }
    #expect(observer.log.transactionStates[id] == [.purchasing, .purchased])
    #expect(observer.log.transactionStates[second] == [.purchasing, .purchased])
  }

  @Test func `a grant that cannot be journaled is delivered after a retry`() async throws {
    let disk = FullDisk()
    let service = ScriptedService()
    let queue = try fixture.queue {
      $0.service = service
      $0.fileSystem = disk.fileSystem
    }
    let observer = RecordingObserver(of: queue)
    disk.set(true)
    service.send(.granted(Grant("g", Payment(productIdentifier: product)), contents: []))
    await observer.wait { !$0.errors.isEmpty }
    disk.set(false)
    await observer.wait { $0.transaction(of: "a")?.transactionState == .purchased }
    #expect(observer.log.transaction(of: "a")?.transactionIdentifier == "g")
  }

  @Test func `a retry waits for its delay on the clock of the engine`() async throws {
    let (disk, clock) = (FullDisk(), StoppedClock())
    let service = AnsweringService { id in
      disk.set(true)
      return self.purchased(id)
    }
    let queue = try fixture.queue {
      $0.service = service
      $0.fileSystem = disk.fileSystem
      $0.environment.execution = clock
      $0.environment.random = { 0.5 }
    }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { !$0.errors.isEmpty }
    disk.set(false)
    // The retry, and the time when the order would be late.
    await waitUntil { clock.timers == 2 }
    clock.advance(seconds: 0.04)
    #expect(clock.timers == 2)
    clock.advance(seconds: 0.02)
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    queue.close()
  }

  @Test func `the delays of retries double, have jitter, and begin again after a success`() {
    var held = HeldEvents()
    var delays: [Double] = []
    for _ in 0..<10 {
      delays.append(held.delay(random: 1))
      held.noteRetry(isSuccess: false)
    }
    #expect(delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 25.6])
    #expect(held.delay(random: 0.5) == 12.8)
    held.noteRetry(isSuccess: true)
    #expect(held.delay(random: 1) == 0.1)
  }

  // MARK: A sync that fails

  /// Returns the library as a killed process would leave it.
  private func copyOfLibrary(_ name: String) throws -> URL {
    let copy = URL(filePath: fixture.folder.path(name), directoryHint: .isDirectory)
    try FileManager.default.copyItem(at: URL(filePath: fixture.libraryPath), to: copy)
    // The shared memory of an ended process is not reused.
    try? FileManager.default.removeItem(at: copy.appending(path: "journal.sqlite-shm"))
    return copy
  }

  @Test func `a payment whose sync failed is not reported as failed`()
    async throws
  {
    #expect(FailingSync.isInstalled)
    let service = AnsweringService { self.purchased($0) }
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    FailingSync.set(true, at: journalPath)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { !$0.errors.isEmpty && $0.transactionStates[id] != nil }
    #expect(FailingSync.failures(at: journalPath) > 0)
    // The service is not asked for a payment that is not durable.
    #expect(observer.log.transactionStates[id] == [.purchasing])
    #expect(service.asked.isEmpty)
    // The process is killed here, and another one opens the library.
    let copy = try copyOfLibrary("killed")
    let again = AnsweringService { self.purchased($0) }
    let next = try fixture.queue {
      $0.library = copy
      $0.service = again
    }
    #expect(next.transactions.map(\.id) == [id], "recovery applies the commit")
    let later = RecordingObserver(of: next)
    await later.wait { $0.transactionStates[id]?.last == .purchased }
    next.close()
    // Without the kill, the first queue continues.
    FailingSync.set(false, at: journalPath)
    await observer.wait { $0.transactionStates[id]?.last != .purchasing }
    #expect(observer.log.transactionStates[id] == [.purchasing, .purchased])
    #expect(service.asked == [id])
  }

  @Test(arguments: [true, false])
  func `an outcome whose sync failed is not reported until it is durable`(isPurchased: Bool)
    async throws
  {
    #expect(FailingSync.isInstalled)
    let path = journalPath
    let service = AnsweringService { id in
      FailingSync.set(true, at: path)
      return isPurchased ? self.purchased(id) : .failed(Self.refusal)
    }
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.transactionStates[id] == [.purchasing])
    let copy = try copyOfLibrary("killed")
    let again = AnsweringService { self.purchased($0) }
    let next = try fixture.queue {
      $0.library = copy
      $0.service = again
    }
    let later = RecordingObserver(of: next)
    await later.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    #expect(later.log.transactionStates[id]?.last == (isPurchased ? .purchased : .failed))
    next.close()
    FailingSync.set(false, at: path)
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    #expect(
      observer.log.transactionStates[id] == [.purchasing, isPurchased ? .purchased : .failed])
  }

  @Test func `a finish whose sync failed is completed, once`() async throws {
    #expect(FailingSync.isInstalled)
    let service = AnsweringService { self.purchased($0) }
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    FailingSync.set(true, at: journalPath)
    queue.finishTransaction(try #require(queue.transactions.first))
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.removed.isEmpty)
    FailingSync.set(false, at: journalPath)
    await observer.wait { !$0.removed.isEmpty }
    #expect(observer.log.removed == [id])
    queue.close()
    #expect(try fixture.reader().finishedTransactions().map { $0.id } == [id])
  }
}

/// A service with responses set by a test, which counts calls.
final class AnsweringService: PartialService {
  private let answer: @Sendable (TransactionID) async throws -> PurchaseOutcome
  private let orders = Mutex([TransactionID]())

  init(_ answer: @escaping @Sendable (TransactionID) async throws -> PurchaseOutcome) {
    self.answer = answer
  }

  /// The requested transactions, in order.
  var asked: [TransactionID] { orders.withLock { $0 } }

  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    orders.withLock { $0.append(order.transaction) }
    return try await answer(order.transaction)
  }
}
