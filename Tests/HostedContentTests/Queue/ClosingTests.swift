import HostedModel
import HostedFileIO
import Foundation
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContent

/// Work and calls after a queue is closed.
@Suite("Closing a queue", .waiting, .timeLimit(.hang))
struct ClosingTests {
  private let fixture: StoreFixture
  private let delivery = DispatchQueue(label: "closing.delivery")

  init() throws { fixture = try StoreFixture(publishing: "a", "1.0") }

  private func queue(_ change: (inout PaymentQueue.Configuration) -> Void = { _ in }) throws
    -> PaymentQueue
  {
    try fixture.queue {
      $0.deliveryQueue = delivery
      change(&$0)
    }
  }

  private func payment() throws -> Payment {
    Payment(productIdentifier: "a")
  }

  /// Returns after all pending work of the delivery queue.
  private func delivered() async {
    await withCheckedContinuation { done in delivery.async { done.resume() } }
  }

  /// The events, in order.
  private final class Log: Sendable {
    private let entries = Watched<[String]>([])
    var all: [String] { entries.value }
    func add(_ entry: String) { entries.change { $0.append(entry) } }

    /// Closes `queue`, and logs the beginning and the end.
    func close(_ queue: PaymentQueue) {
      add("closing")
      queue.close()
      add("closed")
    }

    /// Logs when a thread begins to wait for another.
    var execution: SignalWatch { SignalWatch { self.add("waiting") } }

    /// Blocks until the closing thread waits, or has not waited and closing has ended.
    func blockUntilClosingWaits() {
      entries.block { entries in
        entries.drop { $0 != "closing" }.contains { $0 == "waiting" || $0 == "closed" }
      }
    }

    /// The events without waits.
    var withoutWaits: [String] { all.filter { $0 != "waiting" } }
  }

  @Test("A wait for notices ends at its limit although a commit hangs")
  func noticesDuringCommit() async throws {
    let (gate, isOpened) = (Gate(), Watched(false))
    let queue = try queue {
      $0.fileSystem = gate.fileSystem { operation, _ in operation == .journal && isOpened.value }
    }
    isOpened.change { $0 = true }
    queue.add(try payment())
    await gate.waitUntilReached()
    await queue.waitForNotices(.milliseconds(1))
    #expect(!gate.hasGivenUp)
    gate.open()
    queue.close()
  }

  // MARK: Calls of observers

  @Test("After close, no file of the library changes, also when the queue is released")
  func unchangedFiles() async throws {
    var queue: PaymentQueue? = try queue()
    _ = try await queue?.deliver(payment())
    queue?.close()
    let closed = try files()
    #expect(closed.contains { $0.hasPrefix("journal.sqlite-wal 0 ") })
    weak let released = queue
    queue = nil
    await waitUntil { released == nil }
    #expect(try files() == closed)
  }

  /// Name, size and time of each file of the library.
  private func files() throws -> [String] {
    let folder = fixture.libraryPath
    return try FileManager.default.subpathsOfDirectory(atPath: folder).sorted().map { name in
      let found = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
      return "\(name) \(found[.size] ?? 0) \(found[.modificationDate] ?? 0)"
    }
  }

  @Test("After close() returns, observers are not called, and streams end with the last report")
  func noCalls() async throws {
    let queue = try queue()
    let observer = RecordingObserver(of: queue)
    let reports = queue.reports()
    queue.add(try payment())
    await observer.wait { $0.downloads.count == 1 }
    delivery.suspend()
    let transaction = try #require(queue.transactions.first)
    var events = queue.diagnosticEvents().makeAsyncIterator()
    queue.finishTransaction(transaction)
    while let event = await events.next(), event.name != "finish requested" {}
    let calls = observer.log.calls
    queue.close()
    delivery.resume()
    await delivered()
    #expect(observer.log.calls == calls)
    var removed: [TransactionID] = []
    for await report in reports {
      if case .removed(let transactions) = report { removed += transactions.map(\.id) }
    }
    #expect(removed == [transaction.id])
  }

  @Test("Another queue cannot open the library during a call of an observer")
  func callInProgress() async throws {
    let log = Log()
    let queue = try queue { $0.environment.execution = log.execution }
    let isReached = DispatchSemaphore(value: 0)
    let observer = RecordingObserver(onTransactions: { _, _ in
      isReached.signal()
      log.blockUntilClosingWaits()
      log.add("called")
    })
    queue.add(observer)
    queue.add(try payment())
    await onOwnThread {
      isReached.wait()
      log.close(queue)
    }
    #expect(log.withoutWaits == ["closing", "called", "closed"])
  }

  @Test("An observer may close the queue, and its call is the last one")
  func closedByObserver() async throws {
    let queue = try queue()
    let first = RecordingObserver(onTransactions: { queue, _ in queue.close() })
    let second = RecordingObserver()
    queue.add(first)
    queue.add(second)
    queue.add(try payment())
    await first.wait { !$0.calls.isEmpty }
    await delivered()
    #expect(first.log.calls == ["updatedTransactions"])
    #expect(second.log.calls.isEmpty)
  }

  @Test("A queue may be closed on its delivery queue, as on the main thread")
  func closedOnDeliveryQueue() async throws {
    let queue = try queue()
    let observer = RecordingObserver(of: queue)
    let calls = await onOwnThread {
      self.delivery.sync(execute: {
        if let payment = try? self.payment() { queue.add(payment) }
        queue.close()
        return observer.log.calls
      })
    }
    await delivered()
    #expect(observer.log.calls == calls)
  }

  @Test("An observer that does not return delays closing for a limited time")
  func observerThatBlocks() async throws {
    let queue = try queue { $0.environment.closingLimit = .milliseconds(10) }
    let isReached = DispatchSemaphore(value: 0)
    let mayGoOn = DispatchSemaphore(value: 0)
    let observer = RecordingObserver(onTransactions: { _, _ in
      isReached.signal()
      mayGoOn.wait()
    })
    queue.add(observer)
    queue.add(try payment())
    await onOwnThread {
      isReached.wait()
      queue.close()
      mayGoOn.signal()
    }
    await delivered()
    #expect(observer.log.calls == ["updatedTransactions"])
  }

  @Test("Closing waits a limited time for a cancelled call of the service")
  func service() async throws {
    for (limit, isAwaited) in [
      (DispatchTimeInterval.seconds(60), true), (.milliseconds(10), false),
    ] {
      let log = Log()
      let service = SlowService(log, isAwaited: isAwaited)
      let queue = try queue {
        $0.service = service
        $0.environment.closingLimit = limit
      }
      queue.add(RecordingObserver())
      queue.add(try payment())
      await onOwnThread {
        service.isAsked.wait()
        queue.close()
        log.add("closed")
        service.mayEnd.signal()
      }
      #expect(log.all == (isAwaited ? ["cancelled", "closed"] : ["closed"]))
    }
  }

  /// Responds to a purchase when it is cancelled, or only when the test allows it.
  private struct SlowService: PartialService {
    let isAsked = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    private let log: Log
    private let isAwaited: Bool

    init(_ log: Log, isAwaited: Bool) {
      self.log = log
      self.isAwaited = isAwaited
    }

    func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
      isAsked.signal()
      if isAwaited {
        try? await Task.sleep(for: .seconds(3600))
        log.add("cancelled")
      } else {
        await onOwnThread { self.mayEnd.wait() }
      }
      return .deferred
    }
  }

  // MARK: Work

  @Sendable private static func writesGrants(_ operation: FileOperation, _ path: String) -> Bool {
    operation == .journal && path.hasSuffix("ledger.sqlite")
  }

  @Test("Closing waits for the service's access to the store; the library does not change later")
  func storeAccess() async throws {
    let gate = Gate()
    let log = Log()
    let queue = try queue { configuration in
      configuration.fileSystem = FileSystem(
        willPerform: gate.fileSystem(Self.writesGrants).willPerform,
        didCommit: { path in if path.hasSuffix("ledger.sqlite") { log.add("granted") } })
    }
    queue.add(RecordingObserver())
    queue.add(try payment())
    await gate.waitUntilReached()
    async let closing: Void = onOwnThread { log.close(queue) }
    await waitUntil { !queue.canMakePayments }
    gate.open()
    await closing
    #expect(log.all.last == "closed" && log.all.contains("granted"))
  }

  @Test("Closing waits for a repair in progress, which ends as stopped")
  func repair() async throws {
    let first = try queue()
    _ = try await first.deliver(payment())
    first.close()
    let content = try #require(try fixture.reader().contents().first).content
    let damaged = "\(fixture.libraryPath)/products/a/1.0/Contents/deep/er/data.bin"
    try FileManager.default.removeItem(atPath: damaged)
    let gate = Gate()
    let log = Log()
    let queue = try queue { configuration in
      let closed = gate.fileSystem(closedAt: "/data.bin")
      configuration.environment.execution = log.execution
      configuration.fileSystem = FileSystem { operation, path in
        try closed.check(operation, path)
        if operation == .write { log.add("written") }
      }
    }
    let repair = Task { try await queue.repair(content) }
    await gate.waitUntilReached()
    async let closing: Void = onOwnThread { log.close(queue) }
    await onOwnThread {
      log.blockUntilClosingWaits()
      gate.open()
    }
    await closing
    let error = await #expect(throws: ContentError.self) { try await repair.value }
    #expect(error?.code == .stopped)
    #expect(log.withoutWaits.last == "closed")
    #expect(try fixture.staged().isEmpty)
    let later = await #expect(throws: ContentError.self) { try await queue.repair(content) }
    #expect(later?.code == .stopped)
  }

  @Test("A purchase in progress when the queue is closed is repeated by the next queue")
  func purchaseUnderWay() async throws {
    let gate = Gate()
    let queue = try queue { $0.fileSystem = gate.fileSystem(Self.writesGrants) }
    let observer = RecordingObserver()
    queue.add(observer)
    let id = queue.add(try payment())
    await gate.waitUntilReached()
    async let closing: Void = onOwnThread { queue.close() }
    gate.open()
    await closing
    let next = try self.queue()
    let second = RecordingObserver(of: next)
    await second.wait { $0.transactionStates[id]?.last == .purchased }
    next.close()
  }

  @Test("Objects used by work on another thread are released when it returns")
  func sideWork() throws {
    for _ in 0..<50 {
      let isReleased = Atomic(false)
      let holder = Mutex<Held?>(Held { isReleased.store(true, ordering: .relaxed) })
      let work = try Self.work(holding: holder.withLock { $0.take() })
      _ = try work.result().get()
      let wasReleased = isReleased.load(ordering: .relaxed)
      #expect(wasReleased)
    }
  }

  private static func work(holding held: Held?) throws -> SideWork<Bool> {
    try SideWork {
      held != nil
    } onFailure: { _ in
    }
  }

  private final class Held: Sendable {
    private let onRelease: @Sendable () -> Void
    init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
    deinit { onRelease() }
  }
}
