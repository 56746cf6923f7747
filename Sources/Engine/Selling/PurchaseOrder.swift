public import HostedModel

/// A request for a purchase.
public struct PurchaseOrder: Hashable, Sendable {
  /// The product, its quantity and the account.
  public let payment: Payment
  /// The transaction; the same each time the purchase is retried.
  public let transaction: TransactionID
  /// Whether the queue may have sent it before, such as before a restart; it may be sold then.
  ///
  /// Only an answer about the purchase itself decides such an order, and not a refused token.
  public let isRepeated: Bool

  /// Creates an order.
  public init(payment: Payment, transaction: TransactionID, isRepeated: Bool = false) {
    self.payment = payment
    self.transaction = transaction
    self.isRepeated = isRepeated
  }
}

extension StoreService {
  /// One: the queue calls `purchase(_:transaction:)` for each order.
  public var maximumBatchSize: Int { 1 }

  /// Calls `purchase(_:transaction:)` for each order; an error fails only its order.
  public func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    var outcomes: [PurchaseOutcome] = []
    for order in orders { outcomes.append(await outcome(of: order)) }
    return outcomes
  }

  /// Calls `purchase(_:transaction:)` for one order; an error is the order's failure.
  package func outcome(of order: PurchaseOrder) async -> PurchaseOutcome {
    do {
      return try await purchase(order.payment, transaction: order.transaction)
    } catch {
      return PurchaseOutcome(failing: order, error)
    }
  }
}

extension PurchaseOutcome {
  /// Creates the failure of an order from an error.
  package init(failing order: PurchaseOrder, _ error: any Error) {
    let product = order.payment.productIdentifier.rawValue
    self = .failed(ContentError(error, while: "buying \(product)").about(product))
  }
}

extension PurchaseOrder: CustomStringConvertible {
  /// The transaction and the payment.
  public var description: String {
    "transaction \(transaction): \(payment)\(isRepeated ? ", repeated" : "")"
  }
}
