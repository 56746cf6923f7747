import HostedModel
package import HostedContent

/// The steps of a service that wants a product, without knowledge of earlier processes.
extension PaymentQueue {
  /// Brings `product` to the version in the store.
  package func bring(_ product: String) async throws {
    let identifier = try ProductIdentifier(validating: product)
    try await goOn(with: product)
    guard let installed = try await installedVersion(of: identifier) else {
      _ = try await deliver(Payment(productIdentifier: identifier))
      return
    }
    guard let update = try await update(of: identifier), update.offered > installed else { return }
    _ = try await deliver(update)
  }

  /// Checks twice, since a check skips unreadable contents and only reports them to observers.
  private func update(of product: ProductIdentifier) async throws -> ContentUpdate? {
    for _ in 0..<2 {
      if let found = try await availableUpdates().first(where: { $0.productIdentifier == product })
      {
        return found
      }
    }
    return nil
  }

  /// Delivers and finishes the unfinished transactions of `product`.
  package func goOn(with product: String) async throws {
    for transaction in transactions
    where transaction.payment.productIdentifier.rawValue == product {
      try await complete(transaction)
    }
  }

  /// Delivers and finishes a transaction, even if the service has not answered yet.
  package func complete(_ transaction: PaymentTransaction) async throws {
    if transaction.transactionState == .purchasing {
      // The reports start with the current state, and the launch asks the service again.
      for await report in reports() {
        if case .transactions = report, transaction.transactionState != .purchasing { break }
      }
    }
    if transaction.transactionState != .failed { _ = try await install(transaction) }
    try await finish(transaction)
  }
}
