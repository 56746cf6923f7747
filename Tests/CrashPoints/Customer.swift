import ContentModel
package import HostedContent

/// What a service does that wants a product, and knows nothing of what earlier processes began.
extension PaymentQueue {
  /// Brings `product` to the version that the store offers.
  package func bring(_ product: String) async throws {
    let identifier = try ProductIdentifier(product)
    try await goOn(with: product)
    guard let installed = try installedVersion(of: identifier) else {
      _ = try await deliver(Payment(productIdentifier: identifier))
      return
    }
    let update = try await updates().first { $0.productIdentifier == identifier }
    if let update, update.offered > installed { _ = try await deliver(update) }
  }

  /// Delivers and finishes what is unfinished of `product`.
  package func goOn(with product: String) async throws {
    for transaction in transactions
    where transaction.payment.productIdentifier.rawValue == product {
      try await complete(transaction)
    }
  }

  /// Delivers and finishes a transaction, also one that the seller has still to answer.
  package func complete(_ transaction: PaymentTransaction) async throws {
    if transaction.transactionState == .purchasing {
      // The reports begin with how it stands, and the launch asks the seller again.
      for await report in reports {
        if case .transactions = report, transaction.transactionState != .purchasing { break }
      }
    }
    if transaction.transactionState != .failed { _ = try await install(transaction) }
    try await finish(transaction)
  }
}
