import HostedModel
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContent
@testable import HostedStoreClient

/// The notices with which a queue tells its service about finished purchases.
@Suite("Notices of finished purchases", .timeLimit(.hang))
struct FinishNoticeTests {
  @Test func `a purchase that finishes while another is acknowledged is sent once`() async {
    let service = FinishLog()
    let calls = ServiceCalls(service, Environment(), timeout: 60)
    let transactions = (0..<100).map { TransactionID(rawValue: "t\($0)") }
    let acknowledged = Watched<[TransactionID]>([])
    calls.start(
      ServiceCalls.Receiver(
        onOutcome: { _, _ in },
        onAnswer: { [weak calls] event in
          guard case .finishAcknowledged(let transaction) = event else { return }
          let count = acknowledged.change { list in
            list.append(transaction)
            return list.count
          }
          if count < transactions.count {
            calls?.notifyFinished(Self.notice(transactions[count]))
          }
        }, onProblem: { _ in }))
    calls.notifyFinished(Self.notice(transactions[0]))
    await acknowledged.wait { $0.count >= transactions.count }
    #expect(service.finished.value == transactions.map(\.rawValue))
    calls.stop()
  }

  @Test(.slow) func `a notice that fails does not delay the others`() async {
    let service = FinishLog(failing: "t0")
    let calls = Self.calls(service)
    for transaction: TransactionID in ["t0", "t1", "t2"] {
      calls.notifyFinished(Self.notice(transaction))
    }
    await service.finished.wait { $0 == ["t1", "t2"] }
    calls.stop()
  }

  @Test func `an order that is finished before its batch has ended is not open anymore`() {
    let payment = Payment(productIdentifier: "a")
    let orders = ["t0", "t1"].map {
      PurchaseOrder(payment: payment, transaction: TransactionID(rawValue: $0))
    }
    let outcomes = orders.map {
      PurchaseOutcome.purchased(
        Grant(transactionIdentifier: $0.transaction.rawValue, date: .now, payment: payment),
        contents: [])
    }
    let open = OpenOrders()
    open.begin(orders)
    // The outcome of the first arrived before that of the second.
    open.forget("t0")
    open.note(outcomes, of: orders)
    #expect(open.orders.map(\.transaction) == ["t1"])
  }

  @Test func `an order that is sent again after it was declined is open`() {
    let order = PurchaseOrder(payment: Payment(productIdentifier: "a"), transaction: "t0")
    let declined = ContentError(.notEntitled, "The purchase was declined", remedy: "Ask the seller")
    let open = OpenOrders()
    open.begin([order])
    open.note([PurchaseOutcome.deferred], of: [order])
    open.note(PurchaseOutcome.failed(declined), of: order.transaction)
    #expect(open.orders.isEmpty)
    // A new queue sends it, and the server does not have the decision anymore.
    open.begin([order])
    open.note([PurchaseOutcome.deferred], of: [order])
    #expect(open.orders.map(\.transaction) == ["t0"])
  }

  @Test func `a wait ends with the last notice, at its deadline, or when the calls are stopped`()
    async
  {
    let service = FinishLog(isHeld: true)
    let calls = Self.calls(service)
    calls.waitForNotices(until: .distantFuture)
    calls.notifyFinished(Self.notice("t0"))
    calls.waitForNotices(until: .now())
    let hasEnded = Watched(false)
    Thread.detachNewThread {
      calls.waitForNotices(until: .distantFuture)
      hasEnded.change { $0 = true }
    }
    await service.calls.wait { $0 == 1 }
    #expect(!hasEnded.value)
    service.isHeld.change { $0 = false }
    await hasEnded.wait { $0 }
    #expect(service.finished.value == ["t0"])

    service.isHeld.change { $0 = true }
    calls.notifyFinished(Self.notice("t1"))
    hasEnded.change { $0 = false }
    Thread.detachNewThread {
      calls.waitForNotices(until: .distantFuture)
      hasEnded.change { $0 = true }
    }
    await service.calls.wait { $0 == 2 }
    calls.stop()
    await hasEnded.wait { $0 }
    service.isHeld.change { $0 = false }
  }

  /// Calls whose answers are ignored.
  private static func calls(_ service: FinishLog) -> ServiceCalls {
    let calls = ServiceCalls(service, Environment(), timeout: 60)
    calls.start(
      ServiceCalls.Receiver(onOutcome: { _, _ in }, onAnswer: { _ in }, onProblem: { _ in }))
    return calls
  }

  private static func notice(_ transaction: TransactionID) -> FinishNotice {
    FinishNotice(
      transaction: transaction, number: transaction.rawValue,
      payment: Payment(productIdentifier: "a"))
  }
}

/// A service that records what it is told.
private struct FinishLog: PartialService {
  let finished = Watched<[String]>([])
  let calls = Watched(0)
  let isHeld: Watched<Bool>
  /// The transaction whose notice always fails.
  private let failing: String?

  init(failing: String? = nil, isHeld: Bool = false) {
    self.failing = failing
    self.isHeld = Watched(isHeld)
  }

  var needsFinishes: Bool { true }

  func finished(_ order: PurchaseOrder, number: String) async throws {
    calls.change { $0 += 1 }
    await isHeld.wait { !$0 }
    if order.transaction.rawValue == failing {
      throw ContentError(.serverFailed, "Failed", remedy: "Try again")
    }
    finished.change { $0.append(order.transaction.rawValue) }
  }
}
