import HostedContentTesting
import HostedConcurrency
import StoreKit
import HostedTestSupport
import HostedTestTraits
import Testing

/// Programs often do not retain a request: `let request = …; request.start()`.
@Suite("Requests that the program does not retain", .timeLimit(.hang))
struct RequestLifeTests {
  private typealias Recorder = RequestTests.Recorder

  enum Kind: CaseIterable {
    case products, receipt

    func request(_ queue: SKPaymentQueue) -> SKRequest {
      switch self {
      case .products: SKProductsRequest(productIdentifiers: ["book"], queue: queue)
      case .receipt: SKReceiptRefreshRequest(receiptProperties: nil, queue: queue)
      }
    }
  }

  private final class WeakRequest {
    weak var request: SKRequest?
    var isReleased: Bool { request == nil }
  }

  private let queue: SKPaymentQueue
  private let session: StoreSession
  // Requests do not end while it is suspended.
  private let delivery = DispatchQueue(label: "request.life")
  private let recorder = Recorder()

  init() throws {
    session = try StoreSession()
    try session.publish("book")
    var configuration = try session.configuration()
    configuration.deliveryQueue = delivery
    queue = try SKPaymentQueue(configuration: SKHostConfiguration(queue: configuration))
    delivery.suspend()
  }

  /// Creates a request and keeps only a weak reference to it.
  private func make(_ kind: Kind, _ use: (SKRequest) -> Void) -> WeakRequest {
    let reference = WeakRequest()
    let request = kind.request(queue)
    request.delegate = recorder
    use(request)
    reference.request = request
    return reference
  }

  private func waitForRelease(_ reference: WeakRequest) async {
    await waitUntil { reference.isReleased }
  }

  @Test(
    "A started request gets its response and is released after its end", arguments: Kind.allCases)
  func answered(kind: Kind) async throws {
    let reference = make(kind) { $0.start() }
    let isAlive = !reference.isReleased
    delivery.resume()
    try #require(isAlive)
    #expect(await recorder.ended().calls.last == "finished")
    await waitForRelease(reference)
    queue.close()
  }

  @Test("A started request that fails reports the error and is released", arguments: Kind.allCases)
  func failed(kind: Kind) async throws {
    queue.close()
    let reference = make(kind) { $0.start() }
    delivery.resume()
    #expect(await recorder.ended().calls == ["failed"])
    await waitForRelease(reference)
  }

  @Test("A cancelled request is released, and its delegate is not called", arguments: Kind.allCases)
  func cancelled(kind: Kind) async throws {
    let reference = make(kind) { request in
      request.start()
      request.cancel()
    }
    await waitForRelease(reference)
    delivery.resume()
    // Closing waits for the delivery queue.
    queue.close()
    await withCheckedContinuation { done in delivery.async { done.resume() } }
    #expect(recorder.calls.isEmpty)
  }

  @Test("A request that is not started is released", arguments: Kind.allCases)
  func notStarted(kind: Kind) {
    #expect(make(kind) { _ in }.isReleased)
    delivery.resume()
    queue.close()
  }
}
