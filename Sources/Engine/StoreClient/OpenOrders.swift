import HostedSelling
import HostedConcurrency
import HostedModel

/// The orders that are not finished, the accounts that were used, and the queues, of one service.
///
/// Orders and accounts are asked about again if events of the server were lost.
final class OpenOrders: Sendable {
  private let state = Mutex(State())

  private struct State {
    var orders: [TransactionID: Order] = [:]
    /// Those with a call in progress, which repeats them until they have an outcome.
    var sending: Set<TransactionID> = []
    var accounts: Set<AccountID?> = [nil]
  }

  private struct Order {
    let payment: Payment
    /// Whether it waited for a decision when it was sent.
    var isDeferred = false
    /// Whether it was declined after it was sent; then it is not sent again.
    var isDeclined = false
  }

  /// The streams of the queues that use the service.
  let streams = OpenStreams<StoreEventRecord>()

  /// More accounts are not asked about, since each needs a request.
  private static let accountLimit = 1_000

  /// Adds orders before they are sent, so that an event that overtakes the answer finds them.
  ///
  /// Those that are never sent, because of their account, are not added.
  func begin(_ orders: [PurchaseOrder]) {
    state.withLock { state in
      for order in orders
      where StoreServerConnection.refusal(ofAccount: order.payment.applicationUsername) == nil {
        // The new answer decides, such as after the server has lost that it was declined.
        state.orders[order.transaction] = Order(
          payment: order.payment,
          isDeferred: state.orders[order.transaction]?.isDeferred ?? false)
        state.sending.insert(order.transaction)
      }
    }
    for order in orders { note(order.payment.applicationUsername) }
  }

  /// Notes that a call for these orders has ended, with or without outcomes.
  func end(_ orders: [PurchaseOrder]) {
    state.withLock { $0.sending.subtract(orders.map(\.transaction)) }
  }

  func note(_ outcomes: [PurchaseOutcome], of orders: [PurchaseOrder]) {
    state.withLock { state in
      for (order, outcome) in zip(orders, outcomes) {
        if case .failed = outcome {
          state.orders[order.transaction] = nil
        } else {
          // One that was answered before the others may be finished already.
          state.orders[order.transaction]?.isDeferred = outcome == .deferred
        }
      }
    }
  }

  /// Notes an outcome that is passed on as an event.
  ///
  /// A declined order is kept, because each queue of the service passes on the event itself.
  func note(_ outcome: PurchaseOutcome, of transaction: TransactionID) {
    guard case .failed = outcome else { return }
    state.withLock { $0.orders[transaction]?.isDeclined = true }
  }

  func note(_ account: AccountID?) {
    state.withLock { state in
      if state.accounts.count < Self.accountLimit { state.accounts.insert(account) }
    }
  }

  func forget(_ transaction: TransactionID) {
    state.withLock { $0.orders[transaction] = nil }
  }

  func payment(of transaction: TransactionID) -> Payment? {
    state.withLock { $0.orders[transaction]?.payment }
  }

  /// The orders that may be sent again.
  var orders: [PurchaseOrder] { orders(where: { !$0.isDeclined }) }

  /// The orders that waited for a decision when they were sent.
  var deferredOrders: [PurchaseOrder] {
    orders(where: { $0.isDeferred && !$0.isDeclined })
  }

  private func orders(where isWanted: (Order) -> Bool) -> [PurchaseOrder] {
    state.withLock { $0.orders }.filter { isWanted($0.value) }.map {
      PurchaseOrder(payment: $1.payment, transaction: $0, isRepeated: true)
    }
  }

  /// The orders with a call in progress.
  var sending: Set<TransactionID> { state.withLock { $0.sending } }

  var accounts: Set<AccountID?> { state.withLock { $0.accounts } }

  /// Passes an outcome to the queues; those without the order ignore it.
  func send(_ outcome: PurchaseOutcome, of order: PurchaseOrder) {
    streams.yield(StoreEventRecord(.answered(transaction: order.transaction, outcome)))
  }
}
