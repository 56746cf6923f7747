public import ContentModel

/// A purchase that a store service is asked for.
public struct PurchaseOrder: Hashable, Sendable {
  /// The product, its quantity and the account.
  public let payment: Payment
  /// The transaction, which is the same each time the purchase is asked for.
  public let transaction: TransactionID

  /// Creates an order.
  public init(payment: Payment, transaction: TransactionID) {
    self.payment = payment
    self.transaction = transaction
  }
}

extension StoreService {
  /// One: the queue calls `purchase(_:transaction:)` for each order.
  public var maximumBatchSize: Int { 1 }

  /// Calls `purchase(_:transaction:)` for each order; an error is the failure of its order.
  public func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    var outcomes: [PurchaseOutcome] = []
    for order in orders {
      do {
        outcomes.append(try await purchase(order.payment, transaction: order.transaction))
      } catch {
        outcomes.append(PurchaseOutcome(failing: order, error))
      }
    }
    return outcomes
  }
}

extension PurchaseOutcome {
  /// The failure of an order that could not be carried out.
  init(failing order: PurchaseOrder, _ error: any Error) {
    let product = order.payment.productIdentifier.rawValue
    self = .failed(ContentError(error, while: "buying \(product)").about(product))
  }
}
