import Concurrency
import ContentModel

/// The orders that are not finished, the accounts that were used, and the queues, of one service.
///
/// Orders and accounts are asked about again if events of the server were lost.
final class OpenOrders: Sendable {
  private let state = Mutex(State())

  private struct State {
    var payments: [TransactionID: Payment] = [:]
    /// Those that waited for a decision when they were sent.
    var deferred: Set<TransactionID> = []
    /// Those that were declined after they were sent, and are not sent again.
    var declined: Set<TransactionID> = []
    /// Those with a call in progress, which repeats them until they have an outcome.
    var sending: Set<TransactionID> = []
    var accounts: Set<AccountID?> = [nil]
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
        state.payments[order.transaction] = order.payment
        state.sending.insert(order.transaction)
        // The new answer decides, such as after the server has lost the decision.
        state.declined.remove(order.transaction)
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
        // One that was answered before the others may be finished already.
        guard state.payments[order.transaction] != nil else { continue }
        if case .failed = outcome {
          state.payments[order.transaction] = nil
          state.declined.remove(order.transaction)
        }
        if outcome == .deferred {
          state.deferred.insert(order.transaction)
        } else {
          state.deferred.remove(order.transaction)
        }
      }
    }
  }

  /// Notes an outcome that is passed on as an event.
  ///
  /// A declined order is kept, because each queue of the service passes on the event itself.
  func note(_ outcome: PurchaseOutcome, of transaction: TransactionID) {
    guard case .failed = outcome else { return }
    state.withLock { state in
      if state.payments[transaction] != nil { state.declined.insert(transaction) }
    }
  }

  func note(_ account: AccountID?) {
    state.withLock { state in
      if state.accounts.count < Self.accountLimit { state.accounts.insert(account) }
    }
  }

  func forget(_ transaction: TransactionID) {
    state.withLock { state in
      state.payments[transaction] = nil
      state.deferred.remove(transaction)
      state.declined.remove(transaction)
    }
  }

  func payment(of transaction: TransactionID) -> Payment? {
    state.withLock { $0.payments[transaction] }
  }

  /// The orders that may be sent again.
  var orders: [PurchaseOrder] {
    let (payments, declined) = state.withLock { ($0.payments, $0.declined) }
    return payments.filter { !declined.contains($0.key) }.map {
      PurchaseOrder(payment: $1, transaction: $0, isRepeated: true)
    }
  }

  /// The orders that waited for a decision when they were sent.
  var deferredOrders: [PurchaseOrder] {
    let deferred = state.withLock { $0.deferred }
    return orders.filter { deferred.contains($0.transaction) }
  }

  /// The orders with a call in progress.
  var sending: Set<TransactionID> { state.withLock { $0.sending } }

  var accounts: Set<AccountID?> { state.withLock { $0.accounts } }

  /// Passes an outcome to the queues; those without the order ignore it.
  func send(_ outcome: PurchaseOutcome, of order: PurchaseOrder) {
    streams.yield(StoreEventRecord(.answered(transaction: order.transaction, outcome)))
  }
}
