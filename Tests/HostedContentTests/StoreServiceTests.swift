import Concurrency
import ContentModel
import FoundationEssentials
@testable import HostedContent
import TestSupport
import Testing

@Suite("Calls to and from a store service", .timeLimit(.minutes(10)))
struct StoreServiceTests {
  private let fixture: StoreFixture
  private let service: BackEnd
  private let product: ProductIdentifier

  init() throws {
    fixture = try StoreFixture()
    product = ProductIdentifier("a")
    service = BackEnd(product)
  }

  private func queue(_ observer: RecordingObserver) throws -> PaymentQueue {
    let queue = try fixture.queue { $0.service = service }
    queue.add(observer)
    return queue
  }

  private var payment: Payment { Payment(productIdentifier: product) }

  // MARK: Batches

  @Test("A service with batches gets all waiting orders in one call")
  func batches() async throws {
    service.gate.close()
    let observer = RecordingObserver()
    let queue = try queue(observer)
    let first = queue.add(payment)
    await service.gate.waitForCall()
    let others = (0..<9).map { _ in queue.add(payment) }
    // All are queued before the first call returns.
    await observer.wait { log in others.allSatisfy { log.transactions[$0] != nil } }
    service.gate.open()
    await observer.wait { log in
      ([first] + others).allSatisfy { log.transactionStates[$0]?.last == .purchased }
    }
    let sizes = service.batches
    #expect(sizes.reduce(0, +) == 10 && sizes.count <= 4, "\(sizes)")
    #expect(sizes.allSatisfy { (1...BackEnd.batchSize).contains($0) })
    queue.close()
  }

  @Test("Orders without outcome stay open, are reported, and are repeated at the next start")
  func missingOutcomes() async throws {
    service.dropsLastOutcome = true
    service.gate.close()
    let observer = RecordingObserver()
    let first = try queue(observer)
    let ids = [first.add(payment)]
    await service.gate.waitForCall()
    let batch = (0..<3).map { _ in first.add(payment) }
    await observer.wait { log in batch.allSatisfy { log.transactions[$0] != nil } }
    service.gate.open()
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.first?.code == .sellerNotResponding)
    let open = try #require(observer.log.errors.first?.subject)
    #expect(batch.map(\.rawValue).contains(open) && !ids.map(\.rawValue).contains(open))
    first.close()
    service.dropsLastOutcome = false
    let again = RecordingObserver()
    let second = try queue(again)
    await again.wait { $0.transactionStates[TransactionID(rawValue: open)]?.last == .purchased }
    second.close()
  }

  // MARK: Finished purchases

  @Test("The seller is notified of each finished purchase, again after a failure and a restart")
  func finishes() async throws {
    service.failsFinishes = true
    let observer = RecordingObserver()
    let first = try queue(observer)
    let id = first.add(payment)
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    first.finishTransaction(try #require(first.transactions.first))
    await observer.wait { $0.removed == [id] }
    await service.wait { $0.finishCalls >= 1 }
    first.close()
    #expect(service.finished.isEmpty)

    service.failsFinishes = false
    let second = try queue(RecordingObserver())
    await service.wait { $0.finished == [id] }
    await waitUntilForgotten(second)
    second.close()
    let calls = service.finishCalls
    let third = try queue(RecordingObserver())
    // A purchase after it shows that the launch is over.
    _ = try await third.purchase(payment)
    #expect(service.finishCalls == calls, "an acknowledged finish is not sent again")
    third.close()
  }

  /// Waits until the journal has the acknowledgement.
  private func waitUntilForgotten(_ queue: PaymentQueue) async {
    while (try? queue.engine.journal.readQueue().notices.isEmpty) != true {
      try? await Task.sleep(for: .milliseconds(1))
    }
  }

  @Test("The seller is not notified of failed and restored transactions")
  func otherFinishes() async throws {
    service.refuses = true
    let observer = RecordingObserver()
    let queue = try queue(observer)
    let failed = queue.add(payment)
    await observer.wait { $0.transactionStates[failed]?.last == .failed }
    queue.finishTransaction(try #require(queue.transactions.first))
    service.refuses = false
    let bought = queue.add(payment)
    await observer.wait { $0.transactionStates[bought]?.last == .purchased }
    queue.finishTransaction(try #require(queue.transactions.first { $0.id == bought }))
    await service.wait { $0.finished == [bought] }
    #expect(service.finishCalls == 1)
    queue.close()
  }

  // MARK: Events

  @Test("Events continue after the last handled one")
  func cursors() async throws {
    let observer = RecordingObserver()
    let first = try queue(observer)
    #expect(service.cursors == [nil])
    let grant = Grant(
      transactionIdentifier: "elsewhere", date: Date(timeIntervalSince1970: 1), payment: payment)
    service.send(StoreEventRecord(.granted(grant, contents: []), cursor: "17"))
    await observer.wait { !$0.transactions.isEmpty }
    await waitForCursor("17", first)
    let revocation = Revocation([product], account: "ada", transactionIdentifier: "elsewhere")
    service.send(StoreEventRecord(.revoked(revocation), cursor: "18"))
    await observer.wait { $0.revocations == [revocation] }
    await waitForCursor("18", first)
    first.close()
    let second = try queue(RecordingObserver())
    #expect(service.cursors == [nil, "18"])
    second.close()
  }

  private func waitForCursor(_ cursor: String, _ queue: PaymentQueue) async {
    while (try? queue.engine.journal.readQueue().storeCursor) != cursor {
      try? await Task.sleep(for: .milliseconds(1))
    }
  }

  @Test("An event that could not be journaled and all later ones are repeated after a restart")
  func unwrittenEvent() async throws {
    let disk = FullDisk()
    let observer = RecordingObserver()
    let first = try fixture.queue {
      $0.service = service
      $0.fileSystem = disk.fileSystem
    }
    first.add(observer)
    service.send(StoreEventRecord(.contentPublished, cursor: "1"))
    await waitForCursor("1", first)
    disk.set(true)
    let grant = Grant(
      transactionIdentifier: "elsewhere", date: Date(timeIntervalSince1970: 1), payment: payment)
    service.send(StoreEventRecord(.granted(grant, contents: []), cursor: "2"))
    await observer.wait { !$0.errors.isEmpty }
    service.send(StoreEventRecord(.revoked(Revocation([product])), cursor: "3"))
    await observer.wait { !$0.revoked.isEmpty }
    first.close()
    disk.set(false)
    let second = try queue(RecordingObserver())
    #expect(service.cursors == [nil, "1"])
    second.close()
  }

  @Test("A cursor counts once its event and all earlier ones have ended")
  func order() {
    var cursors = EventCursors()
    let numbers = ["a", "b", "c", "d"].map { cursors.begin($0) }
    #expect(cursors.end(numbers[1]) == nil)
    #expect(cursors.end(numbers[2]) == nil)
    #expect(cursors.end(numbers[0]) == "c")
    #expect(cursors.end(numbers[0]) == nil)
    #expect(cursors.end(numbers[3]) == "d")
    #expect(cursors.end(cursors.begin("e")) == "e")
  }
}

/// A service with batches, finish notices and event cursors.
private final class BackEnd: StoreService {
  struct State: Sendable {
    var batches: [Int] = []
    var dropsLastOutcome = false
    var failsFinishes = false
    var refuses = false
    var finishCalls = 0
    var finished: [TransactionID] = []
    var cursors: [String?] = []
    var sender: AsyncStream<StoreEventRecord>.Continuation?
  }

  static let batchSize = 8
  let gate = CallGate()
  private let state = Mutex(State())
  private let offered: ProductIdentifier

  init(_ product: ProductIdentifier) { offered = product }

  var batches: [Int] { state.withLock { $0.batches } }
  var finished: [TransactionID] { state.withLock { $0.finished } }
  var finishCalls: Int { state.withLock { $0.finishCalls } }
  var cursors: [String?] { state.withLock { $0.cursors } }
  var dropsLastOutcome: Bool {
    get { state.withLock { $0.dropsLastOutcome } }
    set { state.withLock { $0.dropsLastOutcome = newValue } }
  }
  var failsFinishes: Bool {
    get { state.withLock { $0.failsFinishes } }
    set { state.withLock { $0.failsFinishes = newValue } }
  }
  var refuses: Bool {
    get { state.withLock { $0.refuses } }
    set { state.withLock { $0.refuses = newValue } }
  }

  func wait(until condition: (State) -> Bool) async {
    while !state.withLock({ condition($0) }) { try? await Task.sleep(for: .milliseconds(1)) }
  }

  func send(_ record: StoreEventRecord) {
    let sender = state.withLock { $0.sender }
    sender?.yield(record)
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    ProductsResponse(products: [
      Product(
        productIdentifier: offered, type: .nonConsumable, texts: [:], price: nil, contents: [])
    ])
  }

  func allProducts() async throws -> ProductsResponse { try await products([]) }

  let maximumBatchSize = batchSize

  func purchase(_ payment: Payment, transaction: TransactionID) async throws -> PurchaseOutcome {
    await purchase([PurchaseOrder(payment: payment, transaction: transaction)]).first ?? .deferred
  }

  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    await gate.pass()
    let (drops, refuses) = state.withLock { state in
      state.batches.append(orders.count)
      return (state.dropsLastOutcome && orders.count > 1, state.refuses)
    }
    let outcomes = orders.map { order -> PurchaseOutcome in
      if refuses { return .failed(ContentError(.notEntitled, "Refused", remedy: "Ask")) }
      let grant = Grant(
        transactionIdentifier: order.transaction.rawValue, date: Date(timeIntervalSince1970: 1),
        payment: order.payment)
      return .purchased(grant, contents: [])
    }
    return drops ? outcomes.dropLast() : outcomes
  }

  let needsFinishes = true

  func finished(_ transaction: TransactionID, number: String) async throws {
    let fails = state.withLock { state in
      state.finishCalls += 1
      if !state.failsFinishes { state.finished.append(transaction) }
      return state.failsFinishes
    }
    if fails { throw ContentError(.serverFailed, "Down", remedy: "Wait") }
    #expect(number == transaction.rawValue)
  }

  func grants(account: String?) async throws -> [Grant] { [] }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    let (stream, sender) = AsyncStream<StoreEventRecord>.makeStream()
    state.withLock { state in
      state.cursors.append(cursor)
      state.sender = sender
    }
    return stream
  }
}

/// Blocks calls while it is closed.
private final class CallGate: Sendable {
  private struct State {
    var isOpen = true
    var calls = 0
  }

  private let state = Mutex(State())

  func close() { state.withLock { $0.isOpen = false } }
  func open() { state.withLock { $0.isOpen = true } }

  func pass() async {
    state.withLock { $0.calls += 1 }
    while !state.withLock({ $0.isOpen }) { try? await Task.sleep(for: .milliseconds(1)) }
  }

  func waitForCall() async {
    while state.withLock({ $0.calls == 0 }) { try? await Task.sleep(for: .milliseconds(1)) }
  }
}
