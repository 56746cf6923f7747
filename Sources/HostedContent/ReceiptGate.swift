import ContentModel

/// A seller whose receipts are verified as they arrive, before anything is journaled.
///
/// A purchase with a receipt that cannot be trusted fails; one that was not asked for is reported and
/// dropped; a restore delivers the others and then ends with the error.
struct ReceiptGate: StoreService {
  let service: any StoreService
  let verifier: ReceiptVerifier
  let clock: EngineClock
  /// Told of what was dropped.
  let report: @Sendable (ContentError) -> Void

  func products(_ identifiers: Set<ProductIdentifier>) async throws -> ProductsResponse {
    try await service.products(identifiers)
  }

  func allProducts() async throws -> ProductsResponse { try await service.allProducts() }

  func storefront() async -> Storefront? { await service.storefront() }

  func purchase(_ payment: Payment, transaction: String) async throws -> PurchaseOutcome {
    checked(try await service.purchase(payment, transaction: transaction))
  }

  func grants(account: String?) async throws -> [Grant] {
    try await service.grants(account: account).filter { grant in
      guard let error = refusal(of: grant) else { return true }
      report(error)
      return false
    }
  }

  func restore(account: String?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    let purchases = service.restore(account: account)
    return AsyncThrowingStream { continuation in
      let task = Task {
        do {
          var first: ContentError?
          for try await purchase in purchases {
            if let error = refusal(of: purchase.original) {
              first = first ?? error
            } else {
              continuation.yield(purchase)
            }
          }
          continuation.finish(throwing: first)
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  func events() -> AsyncStream<StoreEvent> {
    let events = service.events()
    return AsyncStream { continuation in
      let task = Task {
        for await event in events {
          switch event {
          case .answered(let transaction, let outcome):
            continuation.yield(.answered(transaction: transaction, checked(outcome)))
          case .granted(let grant, _):
            if let error = refusal(of: grant) { report(error) } else { continuation.yield(event) }
          case .revoked, .storefrontChanged, .promoted, .contentPublished:
            continuation.yield(event)
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func checked(_ outcome: PurchaseOutcome) -> PurchaseOutcome {
    guard case .purchased(let grant, _) = outcome, let error = refusal(of: grant) else {
      return outcome
    }
    return .failed(error)
  }

  private func refusal(of grant: Grant) -> ContentError? {
    do {
      try verifier.check(grant, now: clock.now())
      return nil
    } catch {
      let product = grant.payment.productIdentifier.rawValue
      return ContentError(error, while: "checking a receipt for \(product)").about(product)
    }
  }
}
