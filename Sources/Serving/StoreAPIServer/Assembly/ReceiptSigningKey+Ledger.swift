package import FoundationEssentials
package import HostedContent
package import StoreLedger

extension ReceiptSigningKey {
  /// The function with which a ledger signs the receipts of purchases.
  package func signer(now: @escaping @Sendable () -> Date = { Date() }) -> Ledger.Signer {
    { purchase, original in
      // An account that is named after a key is the own account of the service's library.
      let account = purchase.account.flatMap { $0.hasPrefix(APIKey.prefix) ? nil : $0 }
      return try sign(
        Receipt(of: purchase, original: original, accountToken: account, signedDate: now()))
    }
  }
}
