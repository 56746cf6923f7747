package import ContentModel
import Database

/// The revoked products, the accounts that may still own them, and finished failures.
extension SQLiteJournal {
  package func accounts(of product: ProductIdentifier) throws -> Set<String?> {
    try read { connection in
      var accounts: Set<String?> = []
      try connection.query(
        "SELECT account FROM queue_transaction WHERE product = ?1 "
          + "UNION SELECT account FROM finished_transaction WHERE product = ?1",
        [.text(product.rawValue)]
      ) { accounts.insert($0.optionalText(0)) }
      return accounts
    }
  }

  package func accounts() throws -> Set<String?> {
    try read { connection in
      var accounts: Set<String?> = []
      try connection.query(
        "SELECT account FROM queue_transaction UNION SELECT account FROM finished_transaction"
      ) { accounts.insert($0.optionalText(0)) }
      return accounts
    }
  }

  package func hasFailed(_ transaction: String, for payment: Payment) throws -> Bool {
    try read { connection in
      var hasFailed = false
      try connection.query(
        "SELECT 1 FROM finished_transaction WHERE id = ?1 AND state = ?2 AND product = ?3 "
          + "AND account IS ?4",
        [
          .text(transaction), .integer(Int64(TransactionState.failed.rawValue)),
          .text(payment.productIdentifier.rawValue),
          payment.applicationUsername.map { .text($0) } ?? .null,
        ]
      ) { _ in hasFailed = true }
      return hasFailed
    }
  }

  package func revokedProducts() throws -> [ProductIdentifier] {
    try read { connection in
      var products: [ProductIdentifier] = []
      try connection.query("SELECT product FROM revoked_product ORDER BY product") {
        products.append(try $0.identifier(0))
      }
      return products
    }
  }

  package func setRevoked(_ isRevoked: Bool, _ products: [ProductIdentifier]) throws {
    let statement =
      isRevoked
      ? "INSERT OR IGNORE INTO revoked_product VALUES (?1)"
      : "DELETE FROM revoked_product WHERE product = ?1"
    try write { connection in
      for product in products { try connection.run(statement, [.text(product.rawValue)]) }
    }
  }
}
