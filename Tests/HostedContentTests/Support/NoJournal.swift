import ContentModel

/// An empty journal, for reports that read nothing from it.
struct NoJournal: QueueJournal {
  func readQueue() -> JournaledQueue { JournaledQueue() }
  func receipt(of transaction: String) -> String? { nil }
  func commit(_ changes: [JournalChange]) {}
  func removeUnreadable() -> [ContentError] { [] }
  func accounts(of product: ProductIdentifier) -> Set<String?> { [] }
  func accounts() -> Set<String?> { [] }
  func hasFailed(_ transaction: String, for payment: Payment) -> Bool { false }
  func revokedProducts() -> [ProductIdentifier] { [] }
  func setRevoked(_ isRevoked: Bool, _ products: [ProductIdentifier]) {}
  func emptyLog() {}
}
