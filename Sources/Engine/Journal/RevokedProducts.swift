package import HostedModel
import HostedDatabase

/// The revoked products, the accounts that may still own them, and finished failures.
extension SQLiteJournal {
  package func accounts(of product: ProductIdentifier?) throws -> Set<AccountID?> {
    let condition = "WHERE ?1 IS NULL OR product = ?1"
    let accounts = try read {
      try $0.all(
        "SELECT account FROM queue_transaction \(condition) "
          + "UNION SELECT account FROM finished_transaction \(condition)",
        [.optional(product?.rawValue)]
      ) { $0.optionalText(0).map(AccountID.init(rawValue:)) }
    }
    return Set(accounts)
  }

  package func hasFailed(_ transaction: String, for payment: Payment) throws -> Bool {
    let values: [SQLiteConnection.Value] = [
      .text(transaction), .integer(Int64(TransactionState.failed.rawValue)),
      .text(payment.productIdentifier.rawValue), .optional(payment.applicationUsername?.rawValue),
    ]
    return try read {
      try $0.hasRows(
        "SELECT 1 FROM finished_transaction WHERE id = ?1 AND state = ?2 AND product = ?3 "
          + "AND account IS ?4", values)
    }
  }

  package func revokedProducts() throws -> [ProductIdentifier] {
    try read { connection in
      // An unreadable product must not keep the contents of the others.
      try connection.all("SELECT product FROM revoked_product ORDER BY product") {
        try? $0.identifier(0)
      }.compactMap(\.self)
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
