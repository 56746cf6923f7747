import HostedConcurrency
import HostedFileIO
import HostedModel
import FoundationEssentials
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// A thrown error decides nothing, because the service may have charged the buyer before it.
@Suite("Purchases that a service leaves undecided", .timeLimit(.hang))
struct UndecidedPurchaseTests {
  private let fixture: StoreFixture
  private let payment = Payment(productIdentifier: "a")

  init() throws { fixture = try StoreFixture() }

  private func queue(_ service: any StoreService) throws -> PaymentQueue {
    try fixture.queue {
      $0.service = service
      // The shortest delays that do not keep a processor busy.
      $0.environment.random = { 0.01 }
    }
  }

  /// Errors that a service may throw after it has charged the buyer.
  static let errors: [any Error & Sendable] = [
    ContentError(.connectionLost, "The answer is lost", remedy: "Try again"),
    ContentError(.usage, "A wrong code", remedy: "Correct it"),
    ContentError(.notEntitled, "A wrong code of the kind that refuses", remedy: "Return failed"),
    CancellationError(), ForeignError(),
  ]

  struct ForeignError: Error, CustomStringConvertible {
    let description = "bank: connection reset"
  }

  @Test(
    "A service that charges and then throws is asked again, and charges once",
    arguments: errors.indices, [1, 64])
  func charged(number: Int, batchSize: Int) async throws {
    let service = Bank(throwing: Self.errors[number], times: 3, batchSize: batchSize)
    let queue = try queue(service)
    let observer = RecordingObserver(of: queue)
    let id = queue.add(payment)
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    #expect(observer.log.transactionStates[id] == [.purchasing, .purchased])
    #expect(service.asked == [id, id, id, id])
    #expect(service.charges == [id])
    #expect(observer.log.errors.map(\.code) == [.serviceFailed], "reported once")
    #expect(observer.log.errors.first?.subject == id.rawValue)
    #expect(observer.log.errors.first?.isRetryable == true)
    queue.close()
  }

  @Test("The report has the text of the service's error")
  func text() async throws {
    let service = Bank(throwing: ForeignError(), times: 1)
    let queue = try queue(service)
    let observer = RecordingObserver(of: queue)
    queue.add(payment)
    await observer.wait { !$0.errors.isEmpty }
    let error = try #require(observer.log.errors.first)
    #expect(error.description.contains("bank: connection reset"))
    #expect(error.description.contains("a"))
    queue.close()
  }

  @Test("An undecided purchase is repeated after a restart, with the same transaction")
  func restart() async throws {
    let service = Bank(throwing: ForeignError(), times: .max)
    let first = try queue(service)
    let observer = RecordingObserver(of: first)
    let id = first.add(payment)
    await observer.wait { !$0.errors.isEmpty }
    first.close()
    #expect(observer.log.transactionStates[id] == [.purchasing])
    service.recover()
    let second = try queue(service)
    let again = RecordingObserver(of: second)
    await again.wait { $0.transactionStates[id]?.last == .purchased }
    #expect(Set(service.asked) == [id] && service.charges == [id])
    second.close()
  }

  @Test("An undecided purchase does not delay others")
  func others() async throws {
    let service = Bank(throwing: ForeignError(), times: .max, for: "a")
    let queue = try queue(service)
    let observer = RecordingObserver(of: queue)
    let stuck = queue.add(payment)
    await observer.wait { !$0.errors.isEmpty }
    let ids = (0..<100).map { _ in queue.add(Payment(productIdentifier: "b")) }
    await observer.wait { log in ids.allSatisfy { log.transactionStates[$0]?.last == .purchased } }
    #expect(observer.log.transactionStates[stuck] == [.purchasing])
    #expect(observer.log.errors.count == 1)
    queue.close()
  }

  @Test("An event decides a purchase that calls leave undecided")
  func event() async throws {
    let service = Bank(throwing: ForeignError(), times: .max)
    let queue = try queue(service)
    let observer = RecordingObserver(of: queue)
    let id = queue.add(payment)
    await observer.wait { !$0.errors.isEmpty }
    service.send(.answered(transaction: id, .undecided(observer.log.errors[0])))
    service.send(.answered(transaction: id, .failed(.declined)))
    await observer.wait { $0.transactionStates[id]?.last == .failed }
    #expect(observer.log.transactionStates[id] == [.purchasing, .failed])
    service.recover()
    let other = try await queue.purchase(Payment(productIdentifier: "b"))
    #expect(other.transactionState == .purchased)
    queue.close()
  }

  @Test("The built-in store service's purchase is undecided until its ledger can be written")
  func ledger() async throws {
    try fixture.publish("a", "1.0")
    // Only the ledger fails: the journal has the payment.
    let isBroken = Mutex(true)
    let queue = try fixture.queue {
      $0.ledgerFile = URL(filePath: fixture.folder.path("ledger.sqlite"))
      $0.fileSystem = FileSystem { operation, path in
        if operation == .journal, path.contains("ledger"), isBroken.withLock({ $0 }) {
          throw ContentError(.fileFailed, "The disk failed", remedy: "Check the disk")
        }
      }
      $0.environment.random = { 0.01 }
    }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(payment)
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.serviceFailed])
    #expect(observer.log.transactionStates[id] == [.purchasing])
    isBroken.withLock { $0 = false }
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    #expect(observer.log.transactionStates[id] == [.purchasing, .purchased])
    #expect(try await queue.grants().map(\.transactionIdentifier) == [id.rawValue])
    queue.close()
  }
}

extension ContentError {
  fileprivate static let declined = ContentError(
    .purchaseDeclined, "Declined by the bank", remedy: "Use another card")
}

/// A service that charges each transaction once, and throws after the first charges.
private final class Bank: PartialService {
  private struct State {
    var asked: [TransactionID] = []
    var charges: [TransactionID] = []
    var failuresLeft: Int
  }

  let maximumBatchSize: Int
  private let error: any Error & Sendable
  private let failing: ProductIdentifier?
  private let state: Mutex<State>
  private let stream: AsyncStream<StoreEventRecord>
  private let sender: AsyncStream<StoreEventRecord>.Continuation

  init(
    throwing error: any Error & Sendable, times: Int, batchSize: Int = 1,
    for failing: ProductIdentifier? = nil
  ) {
    self.error = error
    self.failing = failing
    maximumBatchSize = batchSize
    state = Mutex(State(failuresLeft: times))
    (stream, sender) = AsyncStream.makeStream()
  }

  var asked: [TransactionID] { state.withLock { $0.asked } }
  var charges: [TransactionID] { state.withLock { $0.charges } }

  /// Throws nothing anymore.
  func recover() { state.withLock { $0.failuresLeft = 0 } }

  func send(_ event: StoreEvent) { sender.yield(StoreEventRecord(event)) }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> { stream }

  func purchase(_ order: PurchaseOrder) async throws -> PurchaseOutcome {
    let (product, transaction) = (order.payment.productIdentifier, order.transaction)
    let fails = state.withLock { state in
      state.asked.append(transaction)
      if !state.charges.contains(transaction) { state.charges.append(transaction) }
      guard failing ?? product == product,
        state.failuresLeft > 0
      else { return false }
      state.failuresLeft -= 1
      return true
    }
    if fails { throw error }
    return .purchased(Grant(transaction.rawValue, order.payment), contents: [])
  }
}
