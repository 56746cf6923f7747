public import ContentModel

extension PaymentQueue {
  /// What the seller has granted to `account`, oldest first; nil is the library's own account.
  public func grants(account: String? = nil) async throws -> [Grant] {
    try await service.grants(account: account)
  }
}
