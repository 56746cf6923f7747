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

extension PurchaseOutcome {
  /// Creates the outcome of an order whose call failed: it may be sold, so it is undecided.
  package init(of order: PurchaseOrder, after error: any Error) {
    self = .undecided(.undecided(order, cause: "\(error)"))
  }

  /// Creates the failure of an order that was not sent, or was refused.
  package init(failing order: PurchaseOrder, _ error: any Error) {
    let product = order.payment.productIdentifier.rawValue
    self = .failed(ContentError(error, while: "buying \(product)").about(product))
  }
}

extension ContentError {
  /// Returns the error of an order without an outcome; `cause` says why it has none.
  package static func undecided(_ order: PurchaseOrder, cause: String) -> ContentError {
    ContentError(
      .serviceFailed,
      "The store service did not decide the purchase of \(order.payment.productIdentifier)",
      remedy: "Check the service. The purchase is repeated with the same transaction",
      subject: order.transaction.rawValue, cause: cause)
  }
}

extension PurchaseOrder: CustomStringConvertible {
  /// The transaction and the payment.
  public var description: String {
    "transaction \(transaction): \(payment)\(isRepeated ? ", repeated" : "")"
  }
}
