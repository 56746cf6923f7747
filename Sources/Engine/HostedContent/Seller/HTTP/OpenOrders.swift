import Concurrency
import ContentModel

/// The orders that are not finished, and the accounts that were used, of one service.
///
/// They are asked about again if events of the server were lost.
final class OpenOrders: Sendable {
  private let state = Mutex(State())

  private struct State {
    var payments: [TransactionID: Payment] = [:]
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
    state.withLock { $0.payments[transaction] = nil }
  }

  var orders: [PurchaseOrder] {
    state.withLock { $0.payments }.map { PurchaseOrder(payment: $1, transaction: $0) }
  }

  var accounts: Set<String?> { state.withLock { $0.accounts } }
}
