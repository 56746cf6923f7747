package import FoundationEssentials
package import HostedContent
package import HostedLedger

extension ReceiptSigningKey {
  /// The function with which a ledger signs the receipts of purchases.
  package func signer(now: @escaping @Sendable () -> Date = { Date() }) -> Ledger.Signer {
    { purchase, original in
      try sign(
        Receipt(
          of: purchase, original: original, accountToken: purchase.namedAccount, signedDate: now()))
    }
  }
}
