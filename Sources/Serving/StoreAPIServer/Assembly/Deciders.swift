package import ContentModel
package import StoreAPI

/// Sells to buyers with a voucher.
package struct VoucherDecider: PurchaseDecider {
  package init() {}

  package func decide(
    _ purchase: PurchaseRequest,
    answer: @escaping @Sendable (Result<Decision, ContentError>) -> Void
  ) { answer(.success(.approveWithVoucher)) }
}
