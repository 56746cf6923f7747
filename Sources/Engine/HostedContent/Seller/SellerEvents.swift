import Concurrency
import ContentModel

extension PaymentQueue {
  /// Returns the storefront as last reported, or asks the seller before the first report.
  package func currentStorefront() async -> Storefront? {
    if let storefront { return storefront }
    return await service.storefront()
  }
}

/// Handles the seller's events.
extension Engine {
  /// Handles the seller's events after `cursor` until the engine is closed.
  func listen(to service: any StoreService, after cursor: String?) {
    let cursors = Mutex(EventCursors())
    seller.listen(after: cursor) { [weak self] record in
      let number = record.cursor.map { cursor in cursors.withLock { $0.begin(cursor) } }
      self?.handle(record.event, service) { [weak self] in
        guard let newest = number.flatMap({ number in cursors.withLock { $0.end(number) } })
        else { return }
        self?.submit(.storeEventsHandled(cursor: newest))
      }
    }
    seller.run { [weak self] in
      if let storefront = await service.storefront() { self?.report(storefront, isNew: false) }
    }
    removeRevokedContents(service)
  }

  /// Handles an event; calls `onEnd` after it is journaled or reported.
  private func handle(
    _ event: StoreEvent, _ service: any StoreService, onEnd: @escaping @Sendable () -> Void
  ) {
    switch event {
    case .answered(let transaction, let outcome):
      submit(.purchaseAnswered(transaction: transaction.rawValue, outcome), onDecided: onEnd)
    case .granted(let grant, let contents):
      submit(
        .granted(transaction: environment.newIdentifier(), grant, contents: contents),
        onDecided: onEnd)
    case .revoked(let revocation):
      delivery.report(revocation)
      handle(revocation, service, onEnd: onEnd)
    case .storefrontChanged(let storefront):
      report(storefront, isNew: true)
      delivery.deliver(onEnd)
    case .promoted(let payment):
      // The lookup may take long; later events do not wait for it.
      seller.run { [weak self] in
        await self?.ask(payment, service)
        self?.delivery.deliver(onEnd)
      }
    case .contentPublished:
      delivery.reportContentPublished()
      delivery.deliver(onEnd)
    case .checkpoint: onEnd()
    }
  }

  private func report(_ storefront: Storefront, isNew: Bool) {
    delivery.report(storefront: storefront, isNew: isNew) { [weak self] transaction in
      let product = transaction.payment.productIdentifier
      let error = ContentError(
        .storefrontRefused,
        "The app stopped the purchase of \(product) in storefront \(storefront.countryCode)",
        remedy: "Buy it again in this storefront", subject: product.rawValue)
      self?.submit(.purchaseAnswered(transaction: transaction.id.rawValue, .failed(error)))
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
