import HostedModel
import HostedDatabase

/// Finished purchases that the seller has not acknowledged.
extension SQLiteJournal {
  /// Reads the notices into `queue`.
  ///
  /// An unreadable one must not keep the library from opening.
  static func readNotices(
    into queue: inout JournaledQueue, _ connection: borrowing SQLiteConnection
  ) throws {
    try connection.query("SELECT id, number, product, quantity, account FROM finish_notice") {
      row in
      do {
        let payment = Payment(
          productIdentifier: try row.identifier(2), quantity: Int(row.integer(3)),
          applicationUsername: row.optionalText(4).map(AccountID.init(rawValue:)))
        queue.notices.append(
          FinishNotice(transaction: row.text(0), number: row.text(1), payment: payment))
      } catch let error as ContentError {
        queue.unreadable.append(
          .unreadableRecord(of: "the finish notice of \(row.text(0))", error.cause ?? ""))
      }
    }
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
