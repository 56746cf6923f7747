import ContentModel
import Database

/// Finished purchases that the seller has not acknowledged.
extension SQLiteJournal {
  static func finishNotices(_ connection: borrowing SQLiteConnection) throws -> [FinishNotice] {
    try connection.all(
      "SELECT id, number, product, quantity, account FROM finish_notice"
    ) { row -> FinishNotice? in
      // An unreadable notice must not keep the library from opening.
      guard let product = try? row.identifier(2) else { return nil }
      let payment = Payment(
        productIdentifier: product, quantity: Int(row.integer(3)),
        applicationUsername: row.optionalText(4).map(AccountID.init(rawValue:)))
      return FinishNotice(transaction: row.text(0), number: row.text(1), payment: payment)
    }.compactMap(\.self)
  }

  static func add(
    _ notice: FinishNotice, _ connection: borrowing SQLiteConnection
  ) throws {
    try connection.run(
      "INSERT INTO finish_notice (id, number, product, quantity, account) "
        + "VALUES (?1, ?2, ?3, ?4, ?5)",
      [
        .text(notice.transaction), .text(notice.number),
        .text(notice.payment.productIdentifier.rawValue),
        .integer(Int64(notice.payment.quantity)),
        .optional(notice.payment.applicationUsername?.rawValue),
      ])
  }
}
