import FoundationEssentials
import HostedDatabase
import HostedModel

/// The journal's tables, and the statements that migrate an older journal.
struct JournalSchema: Sendable {
  /// The current schema; an older journal is migrated when it is opened for writing.
  static let current = JournalSchema(tables: tables, migrations: [fromVersion1])
  /// `PRAGMA application_id` of a journal: “HCJo”.
  static let applicationIdentifier = 0x4843_4A6F

  /// SQL that creates the tables in an empty database.
  let tables: String
  /// SQL that migrates version n to n + 1, starting with version 1.
  let migrations: [String]

  /// The value of `PRAGMA user_version`; 0 is an empty database.
  var version: Int { migrations.count + 1 }

  private static let tables = """
    CREATE TABLE queue_transaction (
      sequence INTEGER PRIMARY KEY,    -- position in the queue
      id TEXT NOT NULL UNIQUE,
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      account TEXT,
      state INTEGER NOT NULL,
      grant_number TEXT,               -- assigned by the seller; null before the grant
      grant_date REAL,                 -- seconds since 1970
      grant_payment TEXT,              -- Payment as JSON, if it differs from the transaction
      original TEXT,                   -- Grant as JSON without its receipt, if restored
      error TEXT,                      -- ContentError as JSON, if failed
      asks_to_buy INTEGER NOT NULL     -- whether Ask to Buy is simulated
    ) STRICT;
    CREATE TABLE queue_download (
      sequence INTEGER NOT NULL,       -- of its transaction
      position INTEGER NOT NULL,       -- from 0; the identifier is <transaction>-<position + 1>
      offer INTEGER NOT NULL,          -- queue_offer
      state INTEGER NOT NULL,
      is_requested INTEGER NOT NULL,
      keeps_current INTEGER,
      error TEXT,                      -- ContentError as JSON, if failed
      PRIMARY KEY (sequence, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE queue_offer (
      id INTEGER PRIMARY KEY,
      offer TEXT NOT NULL UNIQUE       -- ContentOffer as JSON, shared by downloads
    ) STRICT;
    CREATE TABLE receipt (
      id TEXT PRIMARY KEY,             -- of the transaction; kept after it is finished
      receipt TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE finished_transaction (
      id TEXT PRIMARY KEY,             -- a transaction cannot be finished twice
      product TEXT NOT NULL,
      account TEXT,
      state INTEGER NOT NULL,
      finished_at INTEGER NOT NULL     -- seconds since 1970
    ) STRICT;
    CREATE TABLE content (
      id INTEGER PRIMARY KEY,
      content TEXT NOT NULL,
      version TEXT NOT NULL,
      product TEXT NOT NULL,
      size INTEGER NOT NULL,
      entry_count INTEGER NOT NULL,
      installed_at REAL NOT NULL,      -- seconds since 1970
      is_confirmed INTEGER NOT NULL,
      signers BLOB,                    -- digest of the keys that signed the files' digests;
                                       -- null if the files were compared with the digests
      UNIQUE (content, version)
    ) STRICT;
    CREATE TABLE pin (
      content TEXT NOT NULL,
      version TEXT NOT NULL,
      PRIMARY KEY (content, version)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE content_files (
      content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
      files BLOB NOT NULL              -- InstalledFile.encoded
    ) STRICT;
    CREATE TABLE order_number (
      number TEXT PRIMARY KEY,         -- the seller's, if it differs from the transaction's id
      id TEXT NOT NULL                 -- of the transaction; kept after it is finished
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE finish_notice (
      id TEXT PRIMARY KEY,             -- of a finished transaction, until the service knows it
      number TEXT NOT NULL,            -- the seller's
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      account TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE revoked_product (
      product TEXT PRIMARY KEY         -- its contents must be removed
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE store_cursor (
      id INTEGER PRIMARY KEY CHECK (id = 0),
      cursor TEXT NOT NULL             -- the position in the service's events
    ) STRICT;
    """

  /// Version 1 did not record the accounts of finished transactions, and not what was bought.
  ///
  /// A notice needs that only if the service has lost the purchase.
  private static let fromVersion1 = """
    ALTER TABLE finished_transaction ADD COLUMN account TEXT;
    ALTER TABLE finish_notice RENAME TO earlier_notice;
    CREATE TABLE finish_notice (
      id TEXT PRIMARY KEY,
      number TEXT NOT NULL,
      product TEXT NOT NULL,
      quantity INTEGER NOT NULL,
      account TEXT
    ) STRICT, WITHOUT ROWID;
    INSERT INTO finish_notice SELECT n.id, number, product, 1, NULL
      FROM earlier_notice n JOIN finished_transaction f ON f.id = n.id;
    DROP TABLE earlier_notice;
    CREATE TABLE revoked_product (product TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    """

  /// Creates the tables or migrates an older journal, in one transaction.
  ///
  /// Throws `libraryNewer` for a newer journal and does not change it.
  func migrate(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try Self.version(of: connection)
    try refuseNewer(found, path)
    guard found < version else { return }
    guard found >= 0 else {
      throw ContentError(
        .journalFailed, "The journal \(path) is damaged: its schema is \(found)",
        remedy: "Move it away and get the products again. Installed versions stay readable",
        subject: path)
    }
    try connection.transaction { connection in
      let statements = found == 0 ? [tables] : Array(migrations.dropFirst(found - 1))
      for statement in statements { try connection.execute(statement) }
      try connection.execute(
        "PRAGMA application_id = \(Self.applicationIdentifier); PRAGMA user_version = \(version)")
    }
  }

  /// Throws for a journal of another version; for readers, which cannot migrate.
  func check(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try Self.version(of: connection)
    try refuseNewer(found, path)
    guard found == version else {
      throw ContentError(
        .journalFailed, "The journal \(path) has schema \(found), expected \(version)",
        remedy: "Open the library once with write access to migrate the journal", subject: path
      )
    }
  }

  /// Throws for a journal from newer software, and for a database of another program.
  func refuseUnknown(_ connection: borrowing SQLiteConnection, path: String) throws {
    let found = try connection.header()
    if found.application == Self.applicationIdentifier {
      return try refuseNewer(found.version, path)
    }
    guard found == (0, 0, 0) else {
      throw ContentError(
        .libraryFolderTaken, "\(path) is a database of another program",
        remedy: "Choose another folder for the library", subject: path)
    }
  }

  private static func version(of connection: borrowing SQLiteConnection) throws -> Int {
    try connection.first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
  }

  private func refuseNewer(_ found: Int, _ path: String) throws {
    guard found > version else { return }
    throw ContentError(
      .libraryNewer,
      "The journal \(path) has schema \(found), newer than \(version)",
      remedy: "Use the newer version of the software that wrote it", subject: path)
  }
}

/// Creates records from rows.
///
/// Equal values of many records are stored once. A transaction with an unreadable row is skipped,
/// so that the others can be used.
struct QueueRowReader {
  private(set) var queue = JournaledQueue()
  private var offers: [Int64: Shared<ContentOffer>] = [:]
  private var products: [String: ProductIdentifier] = [:]
  private var accounts: Set<AccountID> = []
  private let decoder = JSONDecoder()

  mutating func take(offer row: SQLiteConnection.Row) {
    // If it is unreadable, the transactions with downloads of this offer are unreadable too.
    guard let offer = try? decode(ContentOffer.self, row, 1, of: "an offer") else { return }
    offers[row.integer(0)] = Shared(offer)
  }

  /// Reads a transaction with its first download, or the next download of the last transaction.
  mutating func take(_ row: SQLiteConnection.Row) {
    let sequence = Int(row.integer(0))
    let isNew = sequence != queue.lastSequence
    queue.lastSequence = sequence
    do {
      if isNew {
        queue.transactions.append(try transaction(row, sequence))
      } else if let last = queue.transactions.indices.last,
        queue.transactions[last].sequence == sequence
      {
        queue.transactions[last].downloads += try downloads(
          row, of: queue.transactions[last].id, at: queue.transactions[last].downloads.count)
      }
    } catch {
      if !isNew { queue.transactions.removeLast() }
      let cause = (error as? ContentError)?.cause ?? "\(error)"
      queue.unreadable.append(.unreadableRecord(of: "transaction \(row.text(1))", cause))
    }
  }

  private mutating func transaction(_ row: SQLiteConnection.Row, _ sequence: Int) throws
    -> TransactionRecord
  {
    let id = TransactionID(rawValue: row.text(1))
    let payment = Payment(
      productIdentifier: try product(row), quantity: Int(row.integer(3)),
      applicationUsername: account(row.optionalText(4)), simulatesAskToBuy: row.integer(16) != 0)
    return TransactionRecord(
      id: id, sequence: sequence, payment: payment, status: try status(row, of: id, payment),
      downloads: try downloads(row, of: id, at: 0))
  }

  private func status(_ row: SQLiteConnection.Row, of id: TransactionID, _ payment: Payment) throws
    -> TransactionStatus
  {
    let state = TransactionState(rawValue: Int(row.integer(5)))
    var grant: Grant?
    if !row.isNull(6) {
      grant = Grant(
        transactionIdentifier: row.text(6, sharing: id.rawValue),
        date: Date(timeIntervalSince1970: row.real(7)),
        payment: try optional(Payment.self, row, 8, of: id) ?? payment)
    }
    let original = try optional(Grant.self, row, 9, of: id)
    let error = try optional(ContentError.self, row, 10, of: id)
    switch (state, grant, original, error) {
    case (.purchasing, nil, nil, nil): return .purchasing
    case (.deferred, nil, nil, nil): return .deferred
    case (.purchased, let grant?, nil, nil): return .purchased(grant)
    case (.restored, let grant?, let original?, nil): return .restored(grant, original: original)
    case (.failed, nil, nil, let error?): return .failed(error)
    default:
      throw ContentError.unreadableRecord(
        of: id.rawValue, "state \(row.integer(5)) does not fit grant, original and error")
    }
  }

  private func downloads(_ row: SQLiteConnection.Row, of id: TransactionID, at position: Int) throws
    -> [DownloadRecord]
  {
    guard !row.isNull(11) else { return [] }
    let error = try optional(ContentError.self, row, 15, of: id)
    guard let offer = offers[row.integer(11)],
      let status = DownloadStatus(
        DownloadState(rawValue: Int(row.integer(12))), isRequested: row.integer(13) != 0, error)
    else {
      throw ContentError.unreadableRecord(
        of: id.rawValue, "offer \(row.integer(11)), state \(row.integer(12))")
    }
    var download = DownloadRecord(of: id, number: position + 1, sharing: offer, status: status)
    download.keepsCurrent = row.isNull(14) ? nil : row.integer(14) != 0
    return [download]
  }

  private mutating func product(_ row: SQLiteConnection.Row) throws -> ProductIdentifier {
    let text = row.text(2)
    if let known = products[text] { return known }
    let new = try row.identifier(2)
    products[text] = new
    return new
  }

  private mutating func account(_ name: String?) -> AccountID? {
    name.map { accounts.insert(AccountID(rawValue: $0)).memberAfterInsert }
  }

  private func optional<Value: Decodable>(
    _ type: Value.Type, _ row: SQLiteConnection.Row, _ column: Int32, of id: TransactionID
  ) throws -> Value? {
    row.isNull(column) ? nil : try decode(type, row, column, of: "transaction \(id)")
  }

  private func decode<Value: Decodable>(
    _ type: Value.Type, _ row: SQLiteConnection.Row, _ column: Int32, of what: String
  ) throws -> Value {
    do {
      return try decoder.decode(type, from: Data(row.blob(column)))
    } catch {
      throw ContentError.unreadableRecord(of: what, "\(error)")
    }
  }
}

extension DownloadStatus {
  /// Nil if `error` does not match the state.
  fileprivate init?(_ state: DownloadState?, isRequested: Bool, _ error: ContentError?) {
    switch (state, error) {
    case (.waiting, nil): self = .waiting(isRequested: isRequested)
    case (.active, nil): self = .active
    case (.paused, nil): self = .paused
    case (.finished, nil): self = .finished
    case (.failed, let error?): self = .failed(error)
    case (.cancelled, nil): self = .cancelled
    default: return nil
    }
  }
}

struct QueueRowWriter {
  /// The existing row of an offer.
  private let knownRow: (ContentOffer) -> Int64?
  /// The rows of offers that this commit adds.
  private(set) var newOffers: [ContentOffer: Int64] = [:]
  private let encoder: JSONEncoder

  init(knownRow: @escaping (ContentOffer) -> Int64?) {
    self.knownRow = knownRow
    encoder = JSONEncoder()
    // The text must be deterministic, because an offer's row is found by its text.
    encoder.outputFormatting = .sortedKeys
  }

  /// Saves a new record; the state machine checks the identifiers of unfinished transactions.
  mutating func add(_ record: TransactionRecord, _ connection: borrowing SQLiteConnection) throws {
    let isFinished = try connection.hasRows(
      "SELECT 1 FROM finished_transaction WHERE id = ?1", [.text(record.id.rawValue)])
    guard !isFinished else { throw ContentError.transactionExists(record.id) }
    try save(record, connection)
  }

  mutating func save(_ record: TransactionRecord, _ connection: borrowing SQLiteConnection) throws {
    let grant = record.grant
    let ownPayment = grant.map { $0.payment == record.payment } ?? true
    try connection.run(
      "INSERT INTO queue_transaction VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
        + "ON CONFLICT (id) DO UPDATE SET state = ?6, grant_number = ?7, grant_date = ?8, "
        + "grant_payment = ?9, original = ?10, error = ?11",
      [
        .integer(Int64(record.sequence)), .text(record.id.rawValue),
        .text(record.payment.productIdentifier.rawValue), .integer(Int64(record.payment.quantity)),
        .optional(record.payment.applicationUsername?.rawValue),
        .integer(Int64(record.state.rawValue)),
        .optional(grant?.transactionIdentifier),
        grant.map { .real($0.date.timeIntervalSince1970) } ?? .null,
        ownPayment ? .null : try json(grant?.payment), try json(record.original?.withoutReceipt),
        try json(record.error), .integer(record.payment.simulatesAskToBuy ? 1 : 0),
      ])
    if let receipt = grant?.receipt ?? record.original?.receipt {
      try connection.run(
        "INSERT OR REPLACE INTO receipt VALUES (?1, ?2)",
        [.text(record.id.rawValue), .text(receipt)])
    }
    for (position, download) in record.downloads.enumerated() {
      try connection.run(
        "INSERT OR REPLACE INTO queue_download VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        [
          .integer(Int64(record.sequence)), .integer(Int64(position)),
          .integer(try row(of: download.offer, connection)),
          .integer(Int64(download.state.rawValue)), .integer(download.isRequested ? 1 : 0),
          download.keepsCurrent.map { .integer($0 ? 1 : 0) } ?? .null, try json(download.error),
        ])
    }
  }

  func finish(_ record: TransactionRecord, _ connection: borrowing SQLiteConnection) throws {
    try connection.run(
      "INSERT INTO finished_transaction (id, product, account, state, finished_at) "
        + "VALUES (?1, ?2, ?3, ?4, unixepoch())",
      [
        .text(record.id.rawValue), .text(record.payment.productIdentifier.rawValue),
        .optional(record.payment.applicationUsername?.rawValue),
        .integer(Int64(record.state.rawValue)),
      ])
    let sequence = SQLiteConnection.Value.integer(Int64(record.sequence))
    try connection.run("DELETE FROM queue_transaction WHERE sequence = ?1", [sequence])
    if !record.downloads.isEmpty {
      try connection.run("DELETE FROM queue_download WHERE sequence = ?1", [sequence])
    }
  }

  /// Saves an order number, unless it equals its transaction's `id`, which is saved anyway.
  func remember(_ number: String, of id: TransactionID, _ connection: borrowing SQLiteConnection)
    throws
  {
    let values = [SQLiteConnection.Value.text(number), .text(id.rawValue)]
    guard
      try !connection.hasRows("SELECT 1 FROM order_number WHERE number = ?1 AND id <> ?2", values)
    else { throw ContentError.numberReused(number) }
    guard number != id.rawValue else { return }
    let isOtherPurchase = try connection.hasRows(
      "SELECT 1 FROM queue_transaction WHERE id = ?1 AND state = ?2 "
        + "UNION ALL SELECT 1 FROM finished_transaction WHERE id = ?1 AND state = ?2",
      [.text(number), .integer(Int64(TransactionState.purchased.rawValue))])
    guard !isOtherPurchase else { throw ContentError.numberReused(number) }
    try connection.run("INSERT OR IGNORE INTO order_number VALUES (?1, ?2)", values)
  }

  private mutating func row(of offer: ContentOffer, _ connection: borrowing SQLiteConnection)
    throws -> Int64
  {
    if let known = newOffers[offer] ?? knownRow(offer) { return known }
    var id: Int64 = 0
    try connection.query(
      "INSERT INTO queue_offer (offer) VALUES (?1) "
        + "ON CONFLICT (offer) DO UPDATE SET offer = ?1 RETURNING id", [try json(offer)]
    ) { id = $0.integer(0) }
    newOffers[offer] = id
    return id
  }

  private func json(_ value: (some Encodable)?) throws -> SQLiteConnection.Value {
    guard let value else { return .null }
    return .text(String(decoding: try encoder.encode(value), as: UTF8.self))
  }
}

extension SQLiteConnection {
  /// Returns the values of `body` for all rows, in order.
  func all<Output>(
    _ sql: String, _ values: [Value] = [], _ body: (Row) throws -> Output
  ) throws -> [Output] {
    var found: [Output] = []
    try query(sql, values) { found.append(try body($0)) }
    return found
  }

  /// Returns the value of `body` for the first row; nil without rows.
  func first<Output>(
    _ sql: String, _ values: [Value] = [], _ body: (Row) throws -> Output
  ) throws -> Output? {
    try all(sql, values, body).first
  }

  func hasRows(_ sql: String, _ values: [Value]) throws -> Bool {
    try first(sql, values) { _ in } != nil
  }
}

extension SQLiteConnection.Value {
  static func optional(_ text: String?) -> Self { text.map { .text($0) } ?? .null }
}

extension [SQLiteConnection.Value] {
  /// The values of the columns content and version.
  static func key(_ content: ProductIdentifier, _ version: ContentVersion) -> Self {
    [.text(content.rawValue), .text(version.rawValue)]
  }
}

extension SQLiteConnection.Row {
  /// The text as an identifier; throws `journalFailed` if it is invalid.
  func identifier(_ column: Int32) throws -> ProductIdentifier {
    try readable(column) { try ProductIdentifier(validating: $0) }
  }

  /// The text as a version; throws `journalFailed` if it is invalid.
  func version(_ column: Int32) throws -> ContentVersion {
    try readable(column) { try ContentVersion(validating: $0) }
  }

  private func readable<Value>(_ column: Int32, _ body: (String) throws -> Value) throws -> Value {
    let text = text(column)
    do {
      return try body(text)
    } catch let error as ContentError {
      throw ContentError.unreadableRecord(of: "“\(text)”", error.message)
    }
  }
}
