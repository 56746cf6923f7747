import ContentModel
package import HostedContent

/// What a service does that wants a product, and knows nothing of what earlier processes began.
extension PaymentQueue {
  /// Brings `product` to the version that the store offers.
  package func bring(_ product: String) async throws {
    let identifier = try ProductIdentifier(validating: product)
    try await goOn(with: product)
    guard let installed = try installedVersion(of: identifier) else {
      _ = try await deliver(Payment(productIdentifier: identifier))
      return
    }
    guard let update = try await update(of: identifier), update.offered > installed else { return }
    _ = try await deliver(update)
  }

  /// Looks twice, since a look passes over what it cannot read, and tells observers only.
  private func update(of product: ProductIdentifier) async throws -> ContentUpdate? {
    for _ in 0..<2 {
      if let found = try await updates().first(where: { $0.productIdentifier == product }) {
        return found
      }
    }
    return nil
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
      for await report in reports() {
        if case .transactions = report, transaction.transactionState != .purchasing { break }
      }
    }
    if transaction.transactionState != .failed { _ = try await install(transaction) }
    try await finish(transaction)
  }
}
