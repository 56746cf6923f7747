package import HostedModel

/// Decides whether a purchase is sold.
package protocol PurchaseDecider: Sendable {
  /// Calls `answer` once, on any thread, maybe before it returns.
  func decide(
    _ purchase: PurchaseRequest,
    answer: @escaping @Sendable (Result<Decision, ContentError>) -> Void)
  /// Ends decisions in progress; the server stops.
  func close()
}

extension PurchaseDecider {
  package func close() {}
}

/// The decision about a purchase.
package enum Decision: Hashable, Sendable {
  case approve
  /// Sold if the request's voucher is unused and for this product; otherwise it fails.
  case approveWithVoucher
  case decline(reason: String)
  /// Deferred until an administrator approves or declines it.
  case later
  /// It fails for now, because the buyer must first do something at the seller.
  case interrupt
}

/// Sells everything that the store offers, or only to buyers with a voucher.
package struct ApprovingDecider: PurchaseDecider {
  private let decision: Decision

  package init(needsVoucher: Bool = false) {
    decision = needsVoucher ? .approveWithVoucher : .approve
  }

  package func decide(
    _ purchase: PurchaseRequest,
    answer: @escaping @Sendable (Result<Decision, ContentError>) -> Void
  ) { answer(.success(decision)) }
}
