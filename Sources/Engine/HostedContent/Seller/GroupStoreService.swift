import ContentModel

/// A purchase that a service is asked for.
struct PurchaseOrder: Hashable, Sendable {
  let payment: Payment
  let transaction: String
}

/// A service that is asked for several purchases in little more than the time of one.
protocol GroupStoreService: StoreService {
  /// Sells what each order asks for, in their order; as `purchase(_:transaction:)` for each.
  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome]
}

extension StoreService {
  /// Asks for each purchase, together where the service has a way for that; an error is a failure.
  func outcomes(of orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    if let service = self as? any GroupStoreService { return await service.purchase(orders) }
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
  /// What an order comes to that could not be carried out.
  init(failing order: PurchaseOrder, _ error: any Error) {
    let product = order.payment.productIdentifier.rawValue
    self = .failed(ContentError(error, while: "buying \(product)").about(product))
  }
}
