import FoundationEssentials
import HostedConcurrency
import HostedDatabase
package import HostedFileIO
package import HostedModel

/// The durable record of a library's queue and contents, in one SQLite database.
///
/// It uses a write-ahead log with full synchronization: after a call returns, its writes survive a
/// power failure. Thread-safe; calls are serialized, and writes that wait at the same time share a
/// commit.
package final class SQLiteJournal: Sendable {
  /// The database's file name in a library's folder.
  package static let fileName = "journal.sqlite"

  private struct Write: Sendable {
    /// If a shared commit fails, the body is called again, in a commit of its own.
    let body: @Sendable (borrowing SQLiteConnection) throws -> Void
    /// Whether it may use the reserve; for small changes that a full disk must not prevent.
    let usesReserve: Bool
  }

  private let writer: Serialized<SQLiteConnection>
  /// Another connection, so that reads do not wait for a commit; the same one if it is read-only.
  private let reader: Serialized<SQLiteConnection>
  private let commits = GroupCommit<Write>()
  /// The rows of offers; contains only committed ones.
  private let offerRows = Mutex<[ContentOffer: Int64]>([:])
  private let folder: Directory
  private let path: String
  private let reserve: SpaceReserve

  private var fileSystem: FileSystem { folder.fileSystem }

  /// Opens the journal in `folder`; creates or migrates it unless `readOnly`.
  package init(in folder: Directory, readOnly: Bool = false) throws {
    let path = folder.path(of: Self.fileName)
    try folder.fileSystem.check(readOnly ? .read : .journal, path)
    self.folder = folder
    self.path = path
    reserve = SpaceReserve(in: folder)
    guard !readOnly else {
      reader = Serialized(try Self.openToRead(path, in: folder))
      writer = reader
      return
    }
    (writer, reader) = try folder.explainingSpace {
      do {
        return try Self.open(path, in: folder)
      } catch let error as ContentError where error.code == .diskFull {
        // SQLite creates the index of the log again at each start, which needs space.
        guard SpaceReserve(in: folder).release() else { throw error }
        return try Self.open(path, in: folder)
      }
    }
    try folder.syncLog(ofDatabase: Self.fileName)
    folder.fileSystem.didCommit?(path)
    reserve.fill()
  }

  private static func open(_ path: String, in folder: Directory) throws
    -> (writer: Serialized<SQLiteConnection>, reader: Serialized<SQLiteConnection>)
  {
    let writer = Serialized(try openToWrite(path, in: folder))
    let opened = try SQLiteConnection(path: path, .write)
    // The connection that is closed last leaves the files there.
    try opened.keepLogFiles()
    return (writer, Serialized(opened))
  }

  private static func openToWrite(_ path: String, in folder: Directory) throws -> SQLiteConnection {
    // Checked with a read-only connection, so that a newer journal is not changed. Only the
    // creation uses a rollback journal. If it was interrupted, only a writer can read the database;
    // SQLite rolls it back to empty.
    if try folder.status(of: fileName) != nil, try folder.status(of: "\(fileName)-journal") == nil {
      try JournalSchema.current.refuseUnknown(SQLiteConnection(path: path, .read), path: path)
    }
    try makePrivate(in: folder)
    let opened = try SQLiteConnection(path: path, .write)
    try opened.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    try opened.keepLogFiles()
    try JournalSchema.current.migrate(opened, path: path)
    // Removing them for each finished transaction would cost more. A full disk is not an error
    // here.
    try? opened.execute(
      "DELETE FROM queue_offer WHERE id NOT IN (SELECT DISTINCT offer FROM queue_download)")
    return opened
  }

  /// Removes the permissions of other users on the journal's files.
  ///
  /// The files contain receipts and account names, and a user who can open them can lock them.
  private static func makePrivate(in folder: Directory) throws {
    try folder.makePrivate(database: fileName)
    // SQLite gives the files beside a database the same mode.
    if try folder.status(of: fileName) == nil { _ = try folder.createFile(fileName, mode: 0o600) }
    try folder.createMappedFile("\(fileName)-shm")
  }

  private static func openToRead(_ path: String, in folder: Directory) throws -> SQLiteConnection {
    do {
      let opened = try SQLiteConnection(path: path, .read)
      try JournalSchema.current.check(opened, path: path)
      return opened
    } catch let error as ContentError
      where error.code == .journalFailed || error.code == .notPermitted
    {
      // A copy without a log, in a read-only place. Everything is in the one file.
      guard try folder.status(of: fileName) != nil, try folder.status(of: "\(fileName)-wal") == nil
      else { throw error }
      let opened = try SQLiteConnection(path: path, .readUnchanging)
      try JournalSchema.current.check(opened, path: path)
      return opened
    }
  }

  /// Returns after the writes of `body` are durable.
  func write(
    usingReserve: Bool = true,
    _ body: @escaping @Sendable (borrowing SQLiteConnection) throws -> Void
  ) throws {
    do {
      try commit(usingReserve: usingReserve, body)
    } catch let uncertain as UncertainCommit {
      // For installs, it does not matter what a crash leaves: they are announced, confirmed or
      // forgotten again.
      throw uncertain.error
    }
  }

  /// Returns after the writes of `body` are durable.
  ///
  /// Throws `UncertainCommit` if a crash may bring them back.
  private func commit(
    usingReserve: Bool = true,
    _ body: @escaping @Sendable (borrowing SQLiteConnection) throws -> Void
  ) throws {
    try fileSystem.check(.journal, path)
    try folder.explainingSpace {
      try commits.join(Write(body: body, usesReserve: usingReserve)) { writes in
        writer.use { commit(writes, to: $0) }
      }
    }
    fileSystem.didCommit?(path)
    // This or another part of the library may have released it.
    reserve.fill()
  }

  private func commit(_ writes: [Write], to connection: borrowing SQLiteConnection)
    -> [Result<Void, any Error>]
  {
    if writes.count > 1 {
      do {
        try connection.transaction { connection in
          for write in writes { try write.body(connection) }
        }
        return writes.map { _ in .success(()) }
      } catch {
        // Then each alone, so that one failing write does not affect the others.
      }
    }
    let results = writes.map { write in Result { try commit(write, to: connection) } }
    guard connection.hasUncertainCommit else { return results }
    // Any of them may be in the log, because the first attempt contained all of them.
    return results.map { result in
      result.mapError { UncertainCommit(ContentError($0, while: "writing the journal")) }
    }
  }

  /// Empties the write-ahead log; otherwise the last connection does it when it is closed.
  package func emptyLog() { writer.use { $0.emptyLog() } }

  private func commit(_ write: Write, to connection: borrowing SQLiteConnection) throws {
    do {
      try connection.transaction(write.body)
    } catch let error as ContentError where error.code == .diskFull {
      do {
        // The log then restarts from the beginning and reuses its space.
        try connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        try connection.transaction(write.body)
      } catch let error as ContentError where error.code == .diskFull {
        guard write.usesReserve, reserve.release() else { throw error }
        try connection.transaction(write.body)
      }
    }
  }

  func read<Value>(_ body: (borrowing SQLiteConnection) throws -> Value) throws -> Value {
    try fileSystem.check(.read, path)
    return try reader.use { try body($0) }
  }
}

// MARK: The queue

extension SQLiteJournal: QueueJournal {
  package func readQueue() throws -> JournaledQueue { try read(Self.readQueue) }

  private static func readQueue(_ connection: borrowing SQLiteConnection) throws -> JournaledQueue {
    var reader = QueueRowReader()
    try connection.query("SELECT id, offer FROM queue_offer") { reader.take(offer: $0) }
    try connection.query(
      "SELECT t.sequence, t.id, product, quantity, account, t.state, grant_number, grant_date, "
        + "grant_payment, original, t.error, d.offer, d.state, is_requested, keeps_current, "
        + "d.error, asks_to_buy FROM queue_transaction t "
        + "LEFT JOIN queue_download d USING (sequence) ORDER BY t.sequence, position"
    ) { reader.take($0) }
    var queue = reader.queue
    try readNotices(into: &queue, connection)
    queue.storeCursor = try connection.first("SELECT cursor FROM store_cursor") { $0.text(0) }
    return queue
  }

  package func receipt(of transaction: TransactionID) throws -> String? {
    try read {
      try $0.first("SELECT receipt FROM receipt WHERE id = ?1", [.text(transaction.rawValue)]) {
        $0.text(0)
      }
    }
  }

  package func commit(_ changes: [JournalChange]) throws {
    let newOffers = Mutex<[ContentOffer: Int64]>([:])
    try commit { [self] connection in
      var writer = QueueRowWriter { offer in self.offerRows.withLock { $0[offer] } }
      for change in changes {
        switch change {
        case .add(let record): try writer.add(record, connection)
        case .save(let record): try writer.save(record, connection)
        case .finish(let record): try writer.finish(record, connection)
        case .answer(let number, let id): try writer.remember(number, of: id, connection)
        case .addNotice(let notice): try Self.add(notice, connection)
        case .removeNotice(let id):
          try connection.run("DELETE FROM finish_notice WHERE id = ?1", [.text(id.rawValue)])
        case .storeCursor(let cursor):
          try connection.run("INSERT OR REPLACE INTO store_cursor VALUES (0, ?1)", [.text(cursor)])
        }
      }
      newOffers.withLock { $0 = writer.newOffers }
    }
    let added = newOffers.withLock { $0 }
    if !added.isEmpty { offerRows.withLock { $0.merge(added) { $1 } } }
  }

  /// Finished transactions in no particular order: identifier, product and last state.
  ///
  /// An unreadable one must not hide the others. It stays in the journal, which needs its account.
  package func finishedTransactions() throws -> [FinishedTransaction] {
    let found = try read {
      try $0.all("SELECT id, product, state FROM finished_transaction") {
        row -> FinishedTransaction? in
        guard let product = try? row.identifier(1) else { return nil }
        let state = TransactionState(rawValue: Int(row.integer(2))) ?? .failed
        return (id: TransactionID(rawValue: row.text(0)), productIdentifier: product, state: state)
      }
    }
    return found.compactMap { $0 }
  }

  /// Reads the notices into `queue`.
  ///
  /// An unreadable one must not keep the library from opening.
  private static func readNotices(
    into queue: inout JournaledQueue, _ connection: borrowing SQLiteConnection
  ) throws {
    try connection.query("SELECT id, number, product, quantity, account FROM finish_notice") {
      row in
      do {
        let payment = Payment(
          productIdentifier: try row.identifier(2), quantity: Int(row.integer(3)),
          applicationUsername: row.optionalText(4).map(AccountID.init(rawValue:)))
        queue.notices.append(
          FinishNotice(
            transaction: TransactionID(rawValue: row.text(0)), number: row.text(1), payment: payment
          ))
      } catch let error as ContentError {
        queue.unreadable.append(
          .unreadableRecord(of: "the finish notice of \(row.text(0))", error.cause ?? ""))
      }
    }
  }

  private static func add(_ notice: FinishNotice, _ connection: borrowing SQLiteConnection) throws {
    try connection.run(
      "INSERT INTO finish_notice (id, number, product, quantity, account) "
        + "VALUES (?1, ?2, ?3, ?4, ?5)",
      [
        .text(notice.transaction.rawValue), .text(notice.number),
        .text(notice.payment.productIdentifier.rawValue),
        .integer(Int64(notice.payment.quantity)),
        .optional(notice.payment.applicationUsername?.rawValue),
      ])
  }

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

  package func hasFailed(_ transaction: TransactionID, for payment: Payment) throws -> Bool {
    let values: [SQLiteConnection.Value] = [
      .text(transaction.rawValue), .integer(Int64(TransactionState.failed.rawValue)),
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
    let notices = Set(queue.notices.map(\.transaction.rawValue))
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

// MARK: Installed contents, their files, and pins

extension SQLiteJournal: InstallJournal {
  package func announce(
    _ content: InstalledContent, files: [InstalledFile], signers: Digest?
  ) throws {
    try write(content, files, signers, isConfirmed: false)
  }

  package func replace(
    _ content: InstalledContent, files: [InstalledFile], signers: Digest?
  ) throws {
    try write(content, files, signers, isConfirmed: true)
  }

  private func write(
    _ content: InstalledContent, _ files: [InstalledFile], _ signers: Digest?, isConfirmed: Bool
  ) throws {
    let list = InstalledFile.encoded(files)
    // Megabytes for many files. The download has reserved space for them.
    try write(usingReserve: false) { connection in
      try Self.delete(content.contentIdentifier, content.version, connection)
      let values: [SQLiteConnection.Value] = [
        .text(content.contentIdentifier.rawValue), .text(content.version.rawValue),
        .text(content.productIdentifier.rawValue), .integer(content.size),
        .integer(Int64(content.entryCount)), .real(content.date.timeIntervalSince1970),
        .integer(isConfirmed ? 1 : 0), signers.map { .blob($0.bytes) } ?? .null,
      ]
      try connection.run(
        "INSERT INTO content "
          + "(content, version, product, size, entry_count, installed_at, is_confirmed, signers) "
          + "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", values)
      try connection.run(
        "INSERT INTO content_files VALUES (last_insert_rowid(), ?1)", [.blob(list)])
    }
  }

  package func confirm(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write {
      try $0.run(
        "UPDATE content SET is_confirmed = 1 WHERE content = ?1 AND version = ?2",
        .key(content, version))
    }
  }

  package func forget(_ content: ProductIdentifier, _ version: ContentVersion) throws {
    try write { connection in
      try Self.delete(content, version, connection)
      try Self.unpin(ContentKey(content, version: version), connection)
    }
  }

  private static func delete(
    _ content: ProductIdentifier, _ version: ContentVersion,
    _ connection: borrowing SQLiteConnection
  ) throws {
    try connection.run(
      "DELETE FROM content WHERE content = ?1 AND version = ?2", .key(content, version))
  }

  package func announced() throws -> [InstalledContent] { try contents(confirmed: false) }

  package func installed() throws -> [InstalledContent] { try contents(confirmed: true) }

  package func installed(_ content: ProductIdentifier) throws -> [InstalledContent] {
    try contents(confirmed: true, of: content)
  }

  private func contents(confirmed: Bool, of content: ProductIdentifier? = nil) throws
    -> [InstalledContent]
  {
    let condition = content == nil ? "" : " AND content = ?2"
    var values: [SQLiteConnection.Value] = [.integer(confirmed ? 1 : 0)]
    if let content { values.append(.text(content.rawValue)) }
    // `unreadableContents` returns those that cannot be read.
    let found = try read {
      try $0.all(
        "SELECT content, product, version, size, entry_count, installed_at FROM content "
          + "WHERE is_confirmed = ?1\(condition)", values
      ) { try? Self.content($0) }
    }
    return found.compactMap(\.self).sorted {
      ($0.contentIdentifier, $0.version) < ($1.contentIdentifier, $1.version)
    }
  }

  private static func content(_ row: SQLiteConnection.Row) throws -> InstalledContent {
    InstalledContent(
      contentIdentifier: try row.identifier(0), productIdentifier: try row.identifier(1),
      version: try row.version(2), size: row.integer(3), entryCount: Int(row.integer(4)),
      date: Date(timeIntervalSince1970: row.real(5)))
  }

  package func signers(of content: ProductIdentifier, _ version: ContentVersion) throws -> Digest? {
    try read {
      try $0.first(
        "SELECT signers FROM content WHERE content = ?1 AND version = ?2", .key(content, version)
      ) { Digest(bytes: $0.blob(0)) } ?? nil
    }
  }

  package func pins() throws -> Set<ContentKey> {
    try Set(read { try $0.all("SELECT content, version FROM pin") { try Self.key($0) } })
  }

  private static func key(_ row: SQLiteConnection.Row) throws -> ContentKey {
    ContentKey(try row.identifier(0), version: try row.version(1))
  }

  package func setPin(_ pinned: Bool, on key: ContentKey) throws {
    try write { connection in
      // One pin for each version, in any spelling.
      try Self.unpin(key, connection)
      guard pinned else { return }
      try connection.run(
        "INSERT INTO pin VALUES (?1, ?2)", .key(key.contentIdentifier, key.version))
    }
  }

  /// Removes a pin in any spelling: 1.0 and 1.0.0 are the same version, but not in SQL.
  private static func unpin(_ key: ContentKey, _ connection: borrowing SQLiteConnection) throws {
    // An unreadable pin is not a pin of this version.
    let pins = try connection.all("SELECT content, version FROM pin") { try? Self.key($0) }
    for pin in pins.compactMap(\.self) where pin == key {
      try connection.run(
        "DELETE FROM pin WHERE content = ?1 AND version = ?2",
        .key(pin.contentIdentifier, pin.version))
    }
  }

  package func files(of content: ProductIdentifier, _ version: ContentVersion) throws
    -> [InstalledFile]
  {
    let record = try read { try Self.files(of: content, version, $0) }
    guard let files = record.flatMap(InstalledFile.decoded) else {
      throw ContentError(
        .journalFailed, "Cannot read the journal's record of the files of \(content) \(version)",
        remedy: "Repair the library, or get the product again", subject: content.rawValue)
    }
    return files
  }

  package func files(of contents: ArraySlice<InstalledContent>) throws -> [[InstalledFile]?] {
    let records = try read { connection in
      try connection.snapshot {
        try contents.map { try Self.files(of: $0.contentIdentifier, $0.version, connection) }
      }
    }
    return records.map { $0.flatMap(InstalledFile.decoded) }
  }

  /// The encoded files of a version; nil without a record.
  private static func files(
    of content: ProductIdentifier, _ version: ContentVersion,
    _ connection: borrowing SQLiteConnection
  ) throws -> [UInt8]? {
    try connection.first(
      "SELECT files FROM content_files JOIN content c ON c.id = content_id "
        + "WHERE content = ?1 AND version = ?2", .key(content, version)
    ) { $0.blob(0) }
  }

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
}

extension ContentError {
  static func unreadableRecord(of what: String, _ cause: String) -> ContentError {
    ContentError(
      .journalFailed, "Cannot read the journal's record of \(what)",
      remedy: "Repair the library, then restore or get the missing products",
      subject: what, cause: cause)
  }

  fileprivate static func unreadableContent(
    _ content: String, _ version: String, _ cause: String?
  ) -> ContentError {
    .unreadableRecord(
      of: "content \(content) \(version)", cause ?? "the list of its files is damaged")
  }
}
