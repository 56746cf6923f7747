import Concurrency
import ContentModel

/// The orders that are not finished, and the accounts that were used, of one service.
///
/// They are asked about again if events of the server were lost.
final class OpenOrders: Sendable {
  private let state = Mutex(State())

  private struct State {
    var payments: [TransactionID: Payment] = [:]
    /// Those that waited for a decision when they were sent.
    var deferred: Set<TransactionID> = []
    var accounts: Set<String?> = [nil]
  }

  /// More accounts are not asked about, since each needs a request.
  private static let accountLimit = 1_000

  func note(_ outcomes: [PurchaseOutcome], of orders: [PurchaseOrder]) {
    state.withLock { state in
      for (order, outcome) in zip(orders, outcomes) {
        if case .failed = outcome {
          state.payments[order.transaction] = nil
        } else {
          state.payments[order.transaction] = order.payment
        }
        if outcome == .deferred {
          state.deferred.insert(order.transaction)
        } else {
          state.deferred.remove(order.transaction)
        }
      }
    }
    for order in orders { note(order.payment.applicationUsername) }
  }

  func note(_ account: String?) {
    state.withLock { state in
      if state.accounts.count < Self.accountLimit { state.accounts.insert(account) }
    }
  }

  func forget(_ transaction: TransactionID) {
    state.withLock { state in
      state.payments[transaction] = nil
      state.deferred.remove(transaction)
    }
  }

  var orders: [PurchaseOrder] {
    state.withLock { $0.payments }.map { PurchaseOrder(payment: $1, transaction: $0) }
  }

  /// The orders that waited for a decision when they were sent.
  var deferredOrders: [PurchaseOrder] {
    let deferred = state.withLock { $0.deferred }
    return orders.filter { deferred.contains($0.transaction) }
  }

  var accounts: Set<String?> { state.withLock { $0.accounts } }
}
