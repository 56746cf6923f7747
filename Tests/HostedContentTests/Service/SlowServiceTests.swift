import FoundationEssentials
import HostedModel
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContent

/// A service that does not respond to an order, or responds late.
@Suite("Orders without response", .timeLimit(.hang))
struct SlowServiceTests {
  private let fixture: StoreFixture
  private let slow = ProductIdentifier("slow")
  private let quick = ProductIdentifier("quick")

  init() throws { fixture = try StoreFixture() }

  @Test func `an order that never gets a response does not block others`() async throws {
    let service = HangingService(hangingOn: [slow])
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    for _ in 0..<10 { queue.add(Payment(productIdentifier: slow)) }
    let ids = (0..<10).map { _ in queue.add(Payment(productIdentifier: quick)) }
    await observer.wait { log in
      ids.allSatisfy { log.transactionStates[$0]?.last == .purchased }
    }
    #expect(observer.log.errors.isEmpty)
    service.open()
    queue.close()
  }

  @Test func `a late order is reported, and sent only once`() async throws {
    let service = HangingService(hangingOn: [slow])
    let clock = StoppedClock()
    let queue = try fixture.queue {
      $0.service = service
      $0.environment.execution = clock
    }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: slow))
    await service.waitUntilAsked()
    clock.advance(seconds: 59)
    let other = queue.add(Payment(productIdentifier: quick))
    await observer.wait { $0.transactionStates[other]?.last == .purchased }
    #expect(observer.log.errors.isEmpty)
    clock.advance(seconds: 1)
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.serviceNotResponding])
    #expect(observer.log.errors.first?.subject == id.rawValue)
    #expect(observer.log.transactionStates[id] == [.purchasing])
    // Its call is still in progress, so it is not sent again, even by another observer's launch.
    let second = RecordingObserver(of: queue)
    await second.wait { $0.transactionStates[id] != nil }
    clock.advance(seconds: 600)
    #expect(service.asked == [id, other])
    service.open()
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    #expect(observer.log.errors.count == 1)
    #expect(service.asked == [id, other])
    queue.close()
  }

  @Test func `the time after which an order is late can be set`() async throws {
    let service = HangingService(hangingOn: [slow])
    let clock = StoppedClock()
    let queue = try fixture.queue {
      $0.service = service
      $0.serviceTimeout = .seconds(5)
      $0.environment.execution = clock
    }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: slow))
    await service.waitUntilAsked()
    clock.advance(seconds: 5)
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.serviceNotResponding])
    #expect(observer.log.transactionStates[id] == [.purchasing])
    service.open()
    queue.close()
  }

  @Test func `orders beyond the limit of calls are sent once others are late`() async throws {
    let service = HangingService(hangingOn: [slow])
    let clock = StoppedClock()
    let queue = try fixture.queue {
      $0.service = service
      $0.environment.execution = clock
      // While the first receipt waited for the catalog, the clock would make its call late.
      $0.environment.usesCatalog = false
    }
    let observer = RecordingObserver(of: queue)
    let late = (0..<200).map { _ in queue.add(Payment(productIdentifier: slow)) }
    let id = queue.add(Payment(productIdentifier: quick))
    await waitUntil {
      clock.advance(seconds: 30)
      return observer.log.transactionStates[id]?.last == .purchased
    }
    #expect(Set(observer.log.errors.compactMap(\.subject)).isSubset(of: late.map(\.rawValue)))
    #expect(observer.log.errors.allSatisfy { $0.code == .serviceNotResponding })
    #expect(Set(service.asked).count == service.asked.count)
    service.open()
    queue.close()
  }

  @Test func `a late batch does not block other batches`() async throws {
    let group = HangingGroup(HangingService(hangingOn: [slow]))
    let clock = StoppedClock()
    let queue = try fixture.queue {
      $0.seller = { _ in group }
      $0.environment.execution = clock
    }
    let observer = RecordingObserver(of: queue)
    queue.add(Payment(productIdentifier: slow))
    await group.service.waitUntilAsked()
    let id = queue.add(Payment(productIdentifier: quick))
    await observer.wait { $0.transactionStates[id] != nil }
    #expect(group.calls == 1, "orders that arrive meanwhile form a batch")
    clock.advance(seconds: 60)
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    #expect(observer.log.errors.map(\.code) == [.serviceNotResponding])
    group.service.open()
    queue.close()
  }

  @Test func `a restore that never ends does not block purchases`() async throws {
    let service = HangingService(hangingOn: [], hangsRestore: true)
    let clock = StoppedClock()
    let queue = try fixture.queue {
      $0.service = service
      $0.environment.execution = clock
    }
    let observer = RecordingObserver(of: queue)
    let request = queue.restoreCompletedTransactions()
    let id = queue.add(Payment(productIdentifier: quick))
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    await waitUntil { clock.timers > 0 }
    clock.advance(seconds: 60)
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.serviceNotResponding])
    #expect(observer.log.errors.first?.subject == request.rawValue)
    service.open()
    await observer.wait { !$0.restoreEnds.isEmpty }
    #expect(observer.log.restoreEnds == [nil])
    queue.close()
  }

  @Test func `a promoted product whose look-up never ends blocks no later events`() async throws {
    let service = HangingService(hangingOn: [], hangsProducts: true)
    let queue = try fixture.queue { $0.service = service }
    let observer = RecordingObserver(of: queue)
    service.send(.promoted(Payment(productIdentifier: slow)))
    service.send(.revoked(Revocation([quick])))
    await observer.wait { !$0.revoked.isEmpty }
    #expect(observer.log.revoked == [quick])
    service.open()
    queue.close()
  }
}

/// A service that delays some responses until `open`.
private final class HangingService: PartialService {
  private let hanging: Set<ProductIdentifier>
  private let hangsRestore: Bool
  private let hangsProducts: Bool
  private let state = Watched(State())
  private let eventStream: AsyncStream<StoreEventRecord>
  private let sender: AsyncStream<StoreEventRecord>.Continuation

  private struct State {
    var isOpen = false
    var asked: [TransactionID] = []
  }

  init(
    hangingOn products: Set<ProductIdentifier>, hangsRestore: Bool = false,
    hangsProducts: Bool = false
  ) {
    hanging = products
    self.hangsRestore = hangsRestore
    self.hangsProducts = hangsProducts
    (eventStream, sender) = AsyncStream.makeStream()
  }

  /// The requested transactions, in order.
  var asked: [TransactionID] { state.value.asked }

  func waitUntilAsked() async { await state.wait { !$0.asked.isEmpty } }

  func open() { state.change { $0.isOpen = true } }

  func send(_ event: StoreEvent, cursor: String? = nil) {
    sender.yield(StoreEventRecord(event, cursor: cursor))
  }

  private func waitUntilOpen() async { await state.wait { $0.isOpen } }

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    if hangsProducts { await waitUntilOpen() }
    return ProductsResponse(products: [])
  }
  func grants(account: AccountID?) async throws -> [Grant] {
    if hangsRestore { await waitUntilOpen() }
    return []
  }
  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> { eventStream }

  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    state.change { $0.asked.append(order.transaction) }
    if hanging.contains(order.payment.productIdentifier) { await waitUntilOpen() }
    return .purchased(Grant(order.transaction.rawValue, order.payment), contents: [])
  }
}

/// The same service with batches.
private final class HangingGroup: PartialService {
  let maximumBatchSize = 64
  let service: HangingService
  private let count = Mutex(0)

  init(_ service: HangingService) { self.service = service }

  /// The number of calls.
  var calls: Int { count.withLock { $0 } }

  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    count.withLock { $0 += 1 }
    return try await service.purchase(orders)
  }
}
