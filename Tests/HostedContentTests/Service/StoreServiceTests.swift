import HostedModel
import FoundationEssentials
@testable import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Calls to and from a store service", .timeLimit(.hang))
struct StoreServiceTests {
  private let fixture: StoreFixture
  private let service: BackEnd
  private let product = ProductIdentifier("a")

  init() throws {
    fixture = try StoreFixture()
    service = BackEnd(product)
  }

  private func queue(
    _ observer: RecordingObserver, on disk: FullDisk? = nil
  ) throws -> PaymentQueue {
    let queue = try fixture.queue {
      $0.service = service
      if let disk { $0.fileSystem = disk.fileSystem }
    }
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

  @Test("Orders without outcome stay open, are reported once, and are repeated")
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
    #expect(observer.log.errors.first?.code == .serviceFailed)
    let open = try #require(observer.log.errors.first?.subject)
    #expect(batch.map(\.rawValue).contains(open) && !ids.map(\.rawValue).contains(open))
    service.dropsLastOutcome = false
    await observer.wait { log in
      (ids + batch).allSatisfy { log.transactionStates[$0]?.last == .purchased }
    }
    #expect(observer.log.errors.count == 1)
    first.close()
  }

  // MARK: Finished purchases

  @Test("The service is notified of each finished purchase, again after a failure and a restart")
  func finishes() async throws {
    service.failsFinishes = true
    let observer = RecordingObserver()
    let first = try queue(observer)
    let id = first.add(payment)
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    first.finishTransaction(try #require(first.transactions.first))
    await observer.wait { $0.removed == [id] }
    await service.state.wait { $0.finishCalls >= 1 }
    first.close()
    #expect(service.finished.isEmpty)

    service.failsFinishes = false
    let second = try fixture.queue { $0.service = service }
    let events = second.diagnosticEvents()
    let secondObserver = RecordingObserver()
    second.add(secondObserver)
    await service.state.wait { $0.finished == [id] }
    for await event in events where event.name == "finish acknowledged" { break }
    second.close()
    let calls = service.finishCalls
    let third = try queue(RecordingObserver())
    // A purchase after it shows that the launch is over.
    _ = try await third.purchase(payment)
    #expect(service.finishCalls == calls, "an acknowledged finish is not sent again")
    third.close()
  }

  @Test("The service is not notified of failed and restored transactions")
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
    await service.state.wait { $0.finished == [bought] }
    let restored = try #require(try await queue.restore().first)
    try await queue.finish(restored)
    // Notices are sent in order, so one for the restored transaction would come first.
    let last = try await queue.purchase(payment)
    try await queue.finish(last)
    await service.state.wait { $0.finished.count == 2 }
    #expect(service.finished == [bought, last.id])
    #expect(service.finishCalls == 2)
    queue.close()
  }

  // MARK: Events

  @Test("Events continue after the last handled one")
  func cursors() async throws {
    let observer = RecordingObserver()
    let first = try queue(observer)
    #expect(service.cursors == [nil])
    let grant = Grant("elsewhere", payment)
    service.send(StoreEventRecord(.granted(grant, contents: []), cursor: "17"))
    await observer.wait { !$0.transactions.isEmpty }
    await handleEvents(first, observer)
    #expect(try first.engine.journal.readQueue().storeCursor == "17")
    let revocation = Revocation([product], account: "ada", transactionIdentifier: "elsewhere")
    service.send(StoreEventRecord(.revoked(revocation), cursor: "18"))
    await observer.wait { $0.revocations.last == revocation }
    await handleEvents(first, observer)
    #expect(try first.engine.journal.readQueue().storeCursor == "18")
    first.close()
    let second = try queue(RecordingObserver())
    #expect(service.cursors == [nil, "18"])
    second.close()
  }

  /// Returns when all events that were sent before are handled, and their cursor is journaled.
  ///
  /// The delivery queue reports a later event after it has passed on the end of the earlier ones,
  /// and the engine handles a later payment after that.
  private func handleEvents(_ queue: PaymentQueue, _ observer: RecordingObserver) async {
    let count = observer.log.revocations.count
    service.send(StoreEventRecord(.revoked(Revocation([product]))))
    await observer.wait { $0.revocations.count > count }
    let id = queue.add(payment)
    await observer.wait { $0.transactions[id] != nil }
  }

  @Test("An event that could not be journaled and all later ones are repeated after a restart")
  func unwrittenEvent() async throws {
    let disk = FullDisk()
    let observer = RecordingObserver()
    let first = try queue(observer, on: disk)
    service.send(StoreEventRecord(.contentPublished, cursor: "1"))
    await handleEvents(first, observer)
    let count = observer.log.revocations.count
    disk.set(true)
    let grant = Grant("elsewhere", payment)
    service.send(StoreEventRecord(.granted(grant, contents: []), cursor: "2"))
    await observer.wait { !$0.errors.isEmpty }
    service.send(StoreEventRecord(.revoked(Revocation([product])), cursor: "3"))
    await observer.wait { $0.revocations.count > count }
    first.close()
    disk.set(false)
    let second = try queue(RecordingObserver())
    #expect(service.cursors == [nil, "1"])
    second.close()
  }

  @Test("The event of a second response ends when the first response is journaled")
  func secondAnswer() async throws {
    let disk = FullDisk()
    let observer = RecordingObserver()
    let queue = try self.queue(observer, on: disk)
    service.gate.close()
    let id = queue.add(payment)
    await service.gate.waitForCall()
    disk.set(true)
    service.gate.open()
    await observer.wait { !$0.errors.isEmpty }
    let outcome = PurchaseOutcome.purchased(Grant(id.rawValue, payment), contents: [])
    service.send(StoreEventRecord(.answered(transaction: id, outcome), cursor: "1"))
    await handleEvents(queue, observer)
    disk.set(false)
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    await handleEvents(queue, observer)
    #expect(try queue.engine.journal.readQueue().storeCursor == "1")
    queue.close()
  }

  @Test("An error concerns all orders of its call, a missing outcome only its order")
  func undecided() async {
    let orders = ["t1", "t2"].map { name in
      PurchaseOrder(
        payment: Payment(productIdentifier: "a"), transaction: TransactionID(rawValue: name))
    }
    let failing = AnsweringService { _ in throw CancellationError() }
    let thrown = await failing.outcomes(of: orders)
    #expect(thrown == orders.map { PurchaseOutcome(of: $0, after: CancellationError()) })
    let service = BackEnd("a")
    service.dropsLastOutcome = true
    let outcomes = await service.outcomes(of: orders)
    guard outcomes.count == 2, case .purchased = outcomes[0],
      case .undecided(let error) = outcomes[1]
    else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(error.code == .serviceFailed && error.subject == "t2")
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
    var grants: [Grant] = []
    var sender: AsyncStream<StoreEventRecord>.Continuation?
  }

  static let batchSize = 8
  let gate = CallGate()
  let state = Watched(State())
  private let offered: ProductIdentifier

  init(_ product: ProductIdentifier) { offered = product }

  var batches: [Int] { state.value.batches }
  var finished: [TransactionID] { state.value.finished }
  var finishCalls: Int { state.value.finishCalls }
  var cursors: [String?] { state.value.cursors }
  var dropsLastOutcome: Bool {
    get { state.value.dropsLastOutcome }
    set { state.change { $0.dropsLastOutcome = newValue } }
  }
  var failsFinishes: Bool {
    get { state.value.failsFinishes }
    set { state.change { $0.failsFinishes = newValue } }
  }
  var refuses: Bool {
    get { state.value.refuses }
    set { state.change { $0.refuses = newValue } }
  }

  func send(_ record: StoreEventRecord) {
    state.value.sender?.yield(record)
  }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    ProductsResponse(products: [
      Product(
        productIdentifier: offered, type: .nonConsumable, texts: [:], price: nil, contents: [])
    ])
  }

  func allProducts() async throws -> ProductsResponse { try await products([]) }

  let maximumBatchSize = batchSize

  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    await gate.pass()
    let (drops, refuses) = state.change { state in
      state.batches.append(orders.count)
      return (state.dropsLastOutcome && orders.count > 1, state.refuses)
    }
    let outcomes = orders.map { order -> PurchaseOutcome in
      if refuses { return .failed(ContentError(.notEntitled, "Refused", remedy: "Ask")) }
      return .purchased(Grant(order.transaction.rawValue, order.payment), contents: [])
    }
    state.change { state in
      for case .purchased(let grant, _) in outcomes { state.grants.append(grant) }
    }
    return drops ? outcomes.dropLast() : outcomes
  }

  let needsFinishes = true

  func finished(_ order: PurchaseOrder, number: String) async throws {
    let fails = state.change { state in
      state.finishCalls += 1
      if !state.failsFinishes { state.finished.append(order.transaction) }
      return state.failsFinishes
    }
    if fails { throw ContentError(.serverFailed, "Down", remedy: "Wait") }
    #expect(number == order.transaction.rawValue)
  }

  func grants(account: AccountID?) async throws -> [Grant] { state.value.grants }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    let (stream, sender) = AsyncStream<StoreEventRecord>.makeStream()
    state.change { state in
      state.cursors.append(cursor)
      state.sender = sender
    }
    return stream
  }
}

/// Blocks calls while it is closed.
private final class CallGate: Sendable {
  private let state = Watched((isOpen: true, calls: 0))

  func close() { state.change { $0.isOpen = false } }
  func open() { state.change { $0.isOpen = true } }

  func pass() async {
    state.change { $0.calls += 1 }
    await state.wait { $0.isOpen }
  }

  func waitForCall() async { await state.wait { $0.calls > 0 } }
}
