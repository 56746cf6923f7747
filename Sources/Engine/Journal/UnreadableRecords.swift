import HostedDatabase
package import HostedModel
import HostedConcurrency

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
      found += try Self.removeUnreadable(
        "pin of", in: "pin", key: ["content", "version"], connection
      ) { _ = try Self.key($0) }
      found += try Self.removeUnreadable(
        "revoked product", in: "revoked_product", key: ["product"], connection
      ) { _ = try $0.identifier(0) }
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

  /// Removes the rows of `table` that `read` cannot read; `key` has the columns of its primary key.
  private static func removeUnreadable(
    _ what: String, in table: String, key: [String], _ connection: borrowing SQLiteConnection,
    read: (SQLiteConnection.Row) throws -> Void
  ) throws -> [ContentError] {
    let columns = key.joined(separator: ", ")
    let condition = key.indices.map { "\(key[$0]) = ?\($0 + 1)" }.joined(separator: " AND ")
    var unreadable: [[String]] = []
    try connection.query("SELECT \(columns) FROM \(table)") { row in
      guard (try? read(row)) == nil else { return }
      unreadable.append(key.indices.map { row.text(Int32($0)) })
    }
    for values in unreadable {
      try connection.run("DELETE FROM \(table) WHERE \(condition)", values.map { .text($0) })
    }
    return unreadable.map {
      .unreadableRecord(of: "the \(what) \($0.joined(separator: " "))", "")
    }
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
