package import HostedModel

/// A journal that keeps neither unreadable records, nor failed purchases, nor revoked products.
package protocol PlainJournal: QueueJournal {}

extension PlainJournal {
  package func removeUnreadable() -> [ContentError] { [] }
  package func accounts(of product: ProductIdentifier?) -> Set<AccountID?> { [] }
  package func hasFailed(_ transaction: TransactionID, for payment: Payment) -> Bool { false }
  package func revokedProducts() -> [ProductIdentifier] { [] }
  package func setRevoked(_ isRevoked: Bool, _ products: [ProductIdentifier]) {}
  package func emptyLog() {}
}
