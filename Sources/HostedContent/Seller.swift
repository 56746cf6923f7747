import ContentModel
import Synchronization

/// Asks the store service, one payment after the other in the order they came.
final class Seller: Sendable {
  private let service: any StoreService
  private let orders: AsyncStream<Order>.Continuation
  private let answer = Mutex<(@Sendable (QueueEvent) -> Void)?>(nil)

  private struct Order: Sendable {
    let transaction: String
    let payment: Payment
  }

  init(_ service: any StoreService) {
    self.service = service
    let (stream, continuation) = AsyncStream.makeStream(of: Order.self)
    orders = continuation
    Task { [weak self] in
      for await order in stream { await self?.carryOut(order) }
    }
  }

  deinit { orders.finish() }

  /// Where answers go; set before the first purchase.
  var onAnswer: (@Sendable (QueueEvent) -> Void)? {
    get { answer.withLock { $0 } }
    set { answer.withLock { $0 = newValue } }
  }

  func purchase(_ payment: Payment, transaction: String) {
    orders.yield(Order(transaction: transaction, payment: payment))
  }

  /// Takes no more; a purchase that is under way is asked again at the next launch.
  func close() {
    onAnswer = nil
    orders.finish()
  }

  private func carryOut(_ order: Order) async {
    // A closed stream still hands out what was in it; nobody waits for the answers any more.
    guard onAnswer != nil else { return }
    let outcome: PurchaseOutcome
    do {
      outcome = try await service.purchase(order.payment, transaction: order.transaction)
    } catch {
      let product = order.payment.productIdentifier.rawValue
      outcome = .failed(ContentError(error, while: "buying \(product)").about(product))
    }
    onAnswer?(.purchaseAnswered(transaction: order.transaction, outcome))
  }
}
