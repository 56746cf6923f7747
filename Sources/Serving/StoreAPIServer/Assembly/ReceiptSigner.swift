package import FoundationEssentials
package import HostedContent
package import StoreLedger

/// Signs the receipts of purchases.
package struct ReceiptSigner: Sendable {
  private let key: ReceiptSigningKey
  private let now: @Sendable () -> Date

  package init(key: ReceiptSigningKey, now: @escaping @Sendable () -> Date = { Date() }) {
    self.key = key
    self.now = now
  }

  /// The function for a ledger.
  package var signer: Ledger.Signer { { try sign($0, original: $1) } }

  /// Returns the receipt of `purchase`; `original` is the account's first one of the product.
  private func sign(_ purchase: PurchaseRecord, original: PurchaseRecord?) throws -> String {
    try key.sign(
      Receipt(
        of: purchase, original: original, accountToken: accountToken(purchase), signedDate: now()))
  }

  /// An account that is named after a key is the own account of the service's library.
  private func accountToken(_ purchase: PurchaseRecord) -> String? {
    purchase.account.flatMap { $0.hasPrefix(APIKey.prefix) ? nil : $0 }
  }
}
