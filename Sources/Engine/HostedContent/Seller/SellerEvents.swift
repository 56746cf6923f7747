import ContentModel

extension PaymentQueue {
  /// The storefront as it was reported last; before the first report the seller is asked.
  package func currentStorefront() async -> Storefront? {
    if let storefront { return storefront }
    return await service.storefront()
  }
}

/// What the seller says without being asked, as events of the queue or as reports.
extension Engine {
  /// Takes what happens on the seller's side as events, for as long as the engine runs.
  func listen(to service: any StoreService) {
    seller.listen { [weak self, weak delivery] event in
      guard let self, let delivery else { return }
      switch event {
      case .answered(let transaction, let outcome):
        self.submit(.purchaseAnswered(transaction: transaction, outcome))
      case .granted(let grant, let contents):
        self.submit(
          .granted(transaction: self.environment.newIdentifier(), grant, contents: contents))
      case .revoked(let products): delivery.report(revoked: products)
      case .storefrontChanged(let storefront): self.report(storefront, isNew: true)
      case .promoted(let payment):
        // The look-up may take long; later events do not wait for it.
        self.seller.run { [weak self] in await self?.ask(payment, service) }
      case .contentPublished: delivery.reportContentPublished()
      }
    }
    seller.run { [weak self] in
      if let storefront = await service.storefront() { self?.report(storefront, isNew: false) }
    }
  }

  private func report(_ storefront: Storefront, isNew: Bool) {
    delivery.report(storefront: storefront, isNew: isNew) { [weak self] transaction in
      let product = transaction.payment.productIdentifier
      let error = ContentError(
        .storefrontRefused, "\(product) is not bought in the storefront \(storefront.countryCode)",
        remedy: "Buy it again there", subject: product.rawValue)
      self?.submit(.purchaseAnswered(transaction: transaction.id, .failed(error)))
    }
  }

  private func ask(_ payment: Payment, _ service: any StoreService) async {
    let product = try? await service.products([payment.productIdentifier]).products.first
    guard let product else {
      return delivery.report(error: .notOffered(payment.productIdentifier.rawValue))
    }
    delivery.ask(payment, for: product) { [weak self, environment] in
      self?.submit(.paymentAdded(transaction: environment.newIdentifier(), payment))
    }
  }
}
