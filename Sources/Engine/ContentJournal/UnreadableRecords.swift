import Database
package import ContentModel
import Concurrency

/// Finds unreadable records, and removes them for a repair.
extension SQLiteJournal {
  package func unreadableContents() throws -> [ContentError] {
    try read { try Self.unreadableContents($0).map(\.error) }
  }

  private typealias UnreadableRow = (id: Int64, error: ContentError)

  /// Errors for unreadable contents.
  ///
  /// `checkingAnnounced` includes announced ones with unreadable files.
  private static func unreadableContents(
    _ connection: borrowing SQLiteConnection, checkingAnnounced: Bool = false
  ) throws -> [UnreadableRow] {
    var found: [UnreadableRow] = []
    try connection.query(
      "SELECT content, product, version, size, entry_count, installed_at, id FROM content"
    ) { row in
      do {
        _ = try content(row)
      } catch let error as ContentError {
        found.append((row.integer(6), .unreadableContent(row.text(0), row.text(2), error.cause)))
      }
    }
    guard checkingAnnounced else { return found }
    try connection.query(
      "SELECT content, version, files, id FROM content "
        + "LEFT JOIN content_files ON id = content_id WHERE NOT is_confirmed"
    ) { row in
      guard InstalledFile.decoded(row.blob(2)) == nil else { return }
      found.append((row.integer(3), .unreadableContent(row.text(0), row.text(1), nil)))
    }
    return found
  }

  package func removeUnreadable() throws -> [ContentError] {
    let errors = Mutex<[ContentError]>([])
    try write { connection in
      var found = try Self.removeUnreadableQueue(connection)
      let contents = try Self.unreadableContents(connection, checkingAnnounced: true)
      for (id, _) in contents {
        try connection.run("DELETE FROM content WHERE id = ?1", [.integer(id)])
      }
      found += contents.map(\.error)
      found += try Self.removeUnreadablePins(connection)
      found += try Self.removeUnreadableRevocations(connection)
      errors.withLock { $0 = found }
    }
    return errors.withLock { $0 }
  }

  private static func removeUnreadableQueue(_ connection: borrowing SQLiteConnection) throws
    -> [ContentError]
  {
    let queue = try readQueue(connection)
    guard !queue.unreadable.isEmpty else { return [] }
    let readable = Set(queue.transactions.map { Int64($0.sequence) })
    let sequences = try connection.all("SELECT sequence FROM queue_transaction") { $0.integer(0) }
    for sequence in sequences where !readable.contains(sequence) {
      for table in ["queue_transaction", "queue_download"] {
        try connection.run("DELETE FROM \(table) WHERE sequence = ?1", [.integer(sequence)])
      }
    }
    let notices = Set(queue.notices.map(\.transaction))
    let transactions = try connection.all("SELECT id FROM finish_notice") { $0.text(0) }
    for transaction in transactions where !notices.contains(transaction) {
      try connection.run("DELETE FROM finish_notice WHERE id = ?1", [.text(transaction)])
    }
    return queue.unreadable
  }

  private static func removeUnreadablePins(_ connection: borrowing SQLiteConnection) throws
    -> [ContentError]
  {
    let pins = try connection.all("SELECT content, version FROM pin") { row in
      (content: row.text(0), version: row.text(1), pin: try? key(row))
    }.filter { $0.pin == nil }
    for pin in pins {
      try connection.run(
        "DELETE FROM pin WHERE content = ?1 AND version = ?2",
        [.text(pin.content), .text(pin.version)])
    }
    return pins.map { .unreadableRecord(of: "the pin of \($0.content) \($0.version)", "") }
  }

  private static func removeUnreadableRevocations(
    _ connection: borrowing SQLiteConnection
  ) throws -> [ContentError] {
    let products = try connection.all("SELECT product FROM revoked_product") { row in
      (text: row.text(0), identifier: try? row.identifier(0))
    }.filter { $0.identifier == nil }.map(\.text)
    for product in products {
      try connection.run("DELETE FROM revoked_product WHERE product = ?1", [.text(product)])
    }
    return products.map { .unreadableRecord(of: "the revoked product \($0)", "") }
  }
}

extension ContentError {
  fileprivate static func unreadableContent(
    _ content: String, _ version: String, _ cause: String?
  ) -> ContentError {
    .unreadableRecord(
      of: "content \(content) \(version)", cause ?? "the list of its files is damaged")
  }
}
