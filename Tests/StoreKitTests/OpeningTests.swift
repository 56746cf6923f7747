import Foundation
import HostedContentTesting
import HostedConcurrency
@testable import StoreKit
import HostedTestSupport
import HostedTestTraits
import Testing

/// Calls during the opening of a library, which runs user code.
@Suite("While the library is opening", .waiting, .timeLimit(.hang))
struct OpeningTests {
  /// A service that sells everything, with a hook for the request of events.
  private struct HookedService: StoreService {
    let onEvents: @Sendable () -> Void
    /// Called when the queue ends its request of events.
    let onEnd: @Sendable () -> Void

    func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
      ProductsResponse(products: [])
    }

    func allProducts() async throws -> ProductsResponse { ProductsResponse(products: []) }

    func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
      orders.map { order in
        .purchased(
          Grant(
            transactionIdentifier: order.transaction.rawValue, date: Date(),
            payment: order.payment),
          contents: [])
      }
    }

    func grants(account: AccountID?) async throws -> [Grant] { [] }

    func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
      onEvents()
      return AsyncStream { $0.onTermination = { _ in onEnd() } }
    }
  }

  private let session: StoreSession
  private let host = StoreHost()
  private let queue = SKPaymentQueue()
  private let delivery = DispatchQueue(label: "opening.tests")

  init() throws { session = try StoreSession() }

  private func configuration(
    onEnd: @escaping @Sendable () -> Void = {}, onEvents: @escaping @Sendable () -> Void
  ) throws -> SKHostConfiguration {
    var queue = try session.configuration()
    queue.deliveryQueue = delivery
    queue.seller = { _ in HookedService(onEvents: onEvents, onEnd: onEnd) }
    return SKHostConfiguration(queue: queue)
  }

  private func payment() -> SKPayment {
    let payment = SKMutablePayment()
    payment.productIdentifier = "book"
    return payment
  }

  @Test("A store service may use the queue while its library is opening")
  func reentrant() async throws {
    let observer = KitObserver()
    let codes = Mutex<[ContentError.Code?]>([])
    try host.configure(
      configuration { [host, queue] in
        #expect(host.transactions.isEmpty)
        host.add(observer, of: queue)
        do {
          _ = try host.session()
        } catch {
          codes.withLock { $0.append((error as? ContentError)?.code) }
        }
        host.add(self.payment())
      })
    #expect(codes.withLock { $0 } == [.usage])
    await observer.wait { $0.states.contains([.failed]) }
    #expect(host.transactions.count == 1)
    host.add(payment())
    await observer.wait { $0.states.contains([.purchased]) }
    host.close()
  }

  @Test(
    "Threads that need the library wait for it, and others continue")
  func otherThreads() async throws {
    let isReached = DispatchSemaphore(value: 0)
    let mayGoOn = DispatchSemaphore(value: 0)
    let configuration = try configuration {
      isReached.signal()
      mayGoOn.wait()
    }
    let host = host
    let opened = Watched<[ObjectIdentifier]>([])
    async let opening: Void = onOwnThread { try host.configure(configuration) }
    await onOwnThread { isReached.wait() }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          await onOwnThread {
            guard let session = try? host.session() else { return }
            opened.change { $0.append(ObjectIdentifier(session.engine)) }
          }
        }
      }
      // These calls do not wait.
      #expect(host.transactions.isEmpty && host.observers.isEmpty && host.delegate == nil)
      #expect(opened.value.isEmpty)
      mayGoOn.signal()
    }
    try await opening
    let engines = opened.value
    #expect(engines.count == 4 && Set(engines).count == 1)
    host.close()
  }

  @Test("A queue that is closed while opening fails to open, and releases the library")
  func closedMeanwhile() throws {
    let host = host
    let error = #expect(throws: ContentError.self) {
      try host.configure(configuration { host.close() })
    }
    #expect(error?.code == .stopped)
    try host.configure(configuration {})
    #expect(try host.session().engine.canMakePayments)
    host.close()
  }

  @Test("A service may use the queue when its stream of events ends")
  func usedAtEnd() throws {
    let host = host
    let ended = DispatchSemaphore(value: 0)
    let error = #expect(throws: ContentError.self) {
      try host.configure(
        configuration {
          host.close()
          _ = host.canMakePayments
          ended.signal()
        } onEvents: {
          host.close()
        })
    }
    #expect(error?.code == .stopped)
    ended.wait()
    host.close()
  }

  @Test("After a failed opening the next call tries again")
  func failedOpening() async throws {
    let taken = try PaymentQueue(session.configuration())
    let error = #expect(throws: ContentError.self) { try host.configure(configuration {}) }
    #expect(error?.code == .libraryLocked)
    taken.close()
    #expect(try host.session().engine.canMakePayments)
    host.close()
  }

  @Test("A request that opens the library does not block a thread of tasks")
  func openedByRequest() async throws {
    let taken = try PaymentQueue(session.configuration())
    let isInTask = Watched<Bool?>(nil)
    let configuration = try configuration {
      let value = withUnsafeCurrentTask { $0 != nil }
      isInTask.change { $0 = value }
    }
    let host = host
    #expect(throws: ContentError.self) { try host.configure(configuration) }
    taken.close()
    SKReceiptRefreshRequest(receiptProperties: nil, queue: SKPaymentQueue(host: host)).start()
    await isInTask.wait { $0 != nil }
    #expect(isInTask.value == false)
    host.close()
  }

  @Test("Each thread that closes the queue waits until the running call of an observer ends")
  func closedByTwoThreads() async throws {
    let host = host
    let hasBegun = Watched(false)
    let mayEnd = Watched(false)
    let hasEnded = Watched(false)
    let observer = KitObserver(onTransaction: { _, _ in
      hasBegun.change { $0 = true }
      mayEnd.block { $0 }
      hasEnded.change { $0 = true }
    })
    let waits = Watched(0)
    var configuration = try configuration {}
    configuration.queue.environment.execution = SignalWatch { waits.change { $0 += 1 } }
    try host.configure(configuration)
    host.add(observer, of: queue)
    host.add(payment())
    await hasBegun.wait { $0 }
    waits.change { $0 = 0 }
    let haveWaited = Watched<[Bool]>([])
    // Closing waits for some seconds at most, so nothing here waits for a thread of tasks.
    await onOwnThread {
      let closing = DispatchGroup()
      for number in 1...2 {
        DispatchQueue(label: "closing \(number)").async(group: closing) {
          host.close()
          haveWaited.change { $0.append(hasEnded.value) }
          // Counts like a wait, so that a call that did not wait fails the test.
          waits.change { $0 += 1 }
        }
      }
      waits.block { $0 >= 2 }
      mayEnd.change { $0 = true }
      closing.wait()
    }
    #expect(haveWaited.value == [true, true])
  }

  @Test("A removed observer is not called for a payment that was refused before")
  func removedObserver() async throws {
    let observer = KitObserver()
    try host.configure(configuration {})
    host.add(observer, of: queue)
    delivery.suspend()
    host.add(SKPayment())
    host.remove(observer)
    delivery.resume()
    await withCheckedContinuation { done in delivery.async { done.resume() } }
    #expect(observer.log.states.isEmpty)
    host.close()
  }
}
