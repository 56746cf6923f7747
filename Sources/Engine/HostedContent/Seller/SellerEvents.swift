import HostedSelling
import HostedConcurrency
import HostedModel

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
  func listen(after cursor: String?) {
    let cursors = Mutex(EventCursors())
    seller.listen(after: cursor) { [weak self] record in
      let number = record.cursor.map { cursor in cursors.withLock { $0.begin(cursor) } }
      self?.handle(record.event) { [weak self] in
        guard let newest = number.flatMap({ number in cursors.withLock { $0.end(number) } })
        else { return }
        self?.submit(.storeEventsHandled(cursor: newest))
      }
    }
    seller.run { [weak self, service = seller.service] in
      if let storefront = await service.storefront() { self?.report(storefront, isNew: false) }
    }
    removeRevokedContents()
  }

  /// Handles an event; calls `onEnd` after it is journaled or reported.
  private func handle(_ event: StoreEvent, onEnd: @escaping @Sendable () -> Void) {
    switch event {
    case .answered(let transaction, let outcome):
      answer(transaction.rawValue, outcome, onEnd: onEnd)
    case .granted(let grant, let contents): deliver(grant, contents, onEnd: onEnd)
    case .revoked(let revocation):
      delivery.report(revocation)
      handle(revocation, onEnd: onEnd)
    case .storefrontChanged(let storefront):
      report(storefront, isNew: true)
      delivery.deliver(onEnd)
    case .promoted(let payment):
      // The lookup may take long; later events do not wait for it.
      seller.run { [weak self] in
        await self?.ask(payment)
        self?.delivery.deliverAfterLaunch(onEnd)
      }
    case .contentPublished:
      delivery.reportContentPublished()
      delivery.deliver(onEnd)
    case .checkpoint: onEnd()
    }
  }

  /// Submits the seller's answer to a purchase; calls `onEnd` after it is journaled or reported.
  func answer(
    _ transaction: String, _ outcome: PurchaseOutcome, onEnd: @escaping @Sendable () -> Void = {}
  ) {
    submit(.purchaseAnswered(transaction: transaction, outcome)) { [weak self] in
      guard let self, case .purchased(let grant, let contents) = outcome else { return onEnd() }
      deliver(grant, contents, ifFailed: transaction, onEnd: onEnd)
    }
  }

  /// Delivers a purchase as another transaction if its own has failed: it was interrupted, or the
  /// delegate stopped it while the seller was selling.
  ///
  /// Only in the library that ordered it: others get the event too. Called on `serial`, after the
  /// answer was handled.
  private func deliver(
    _ grant: Grant, _ contents: [ContentOffer], ifFailed transaction: String,
    onEnd: @escaping @Sendable () -> Void
  ) {
    do {
      // The seller may answer twice: to the call, and with an event.
      guard try hasFailed(transaction, for: grant.payment),
        redelivered.insert(transaction).inserted
      else { return onEnd() }
      deliver(grant, contents, onEnd: onEnd)
    } catch {
      // The event has not ended, so the next start gets it again.
      delivery.report(error: ContentError(error, while: "reading the journal"))
    }
  }

  private func deliver(
    _ grant: Grant, _ contents: [ContentOffer], onEnd: @escaping @Sendable () -> Void
  ) {
    submit(
      .granted(transaction: environment.newIdentifier(), grant, contents: contents),
      onDecided: onEnd)
  }

  private func hasFailed(_ transaction: String, for payment: Payment) throws -> Bool {
    guard let record = state.transaction(transaction) else {
      return try journal.hasFailed(transaction, for: payment)
    }
    guard let error = record.error else { return false }
    // With a mismatch, the answer itself may be what failed.
    return error.code != .answerMismatch && payment.answers(record.payment)
  }

  private func report(_ storefront: Storefront, isNew: Bool) {
    delivery.report(storefront: storefront, isNew: isNew) { [weak self] transaction in
      self?.seller.withdraw(transaction.id)
      let product = transaction.payment.productIdentifier
      let error = ContentError(
        .storefrontRefused,
        "The app stopped the purchase of \(product) in storefront \(storefront.countryCode)",
        remedy: "Buy it again in this storefront", subject: product.rawValue)
      self?.submit(.purchaseAnswered(transaction: transaction.id.rawValue, .failed(error)))
    }
  }

  private func ask(_ payment: Payment) async {
    let product = try? await seller.service.products([payment.productIdentifier]).products.first
    guard let product else {
      let error = ContentError.notOffered(payment.productIdentifier.rawValue)
      return delivery.deliverAfterLaunch { [delivery] in delivery.report(error: error) }
    }
    delivery.ask(payment, for: product) { [weak self, environment] in
      self?.submit(.paymentAdded(transaction: environment.newIdentifier(), payment))
    }
  }
}
