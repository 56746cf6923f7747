public import ContentModel

extension PaymentQueue {
  /// Returns the grants of `account`, oldest first; nil means the library's own account.
  public func grants(account: String? = nil) async throws -> [Grant] {
    try await service.grants(account: account)
  }
}
