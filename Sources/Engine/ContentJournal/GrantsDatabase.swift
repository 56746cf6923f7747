package import ContentModel
package import FileIO
import FoundationEssentials
import Concurrency

/// A SQLite database of grants.
///
/// Libraries and processes may share it. Each grant has a row with its unique transaction
/// identifier and its payment. A grant counts once it is durable. Grants that are added together
/// share one commit. Queries use an index and read only the rows that they return. Thread-safe;
/// calls block. Failures without a more specific code are `grantsFailed`.
package final class GrantsDatabase: Sendable {
  /// The database's file name in a library's folder.
  package static let fileName = "grants.sqlite"

  private let folder: Directory
  private let name: String
  private let lockTimeout: Int
  private let opened = Mutex<Opened?>(nil)

  /// Held while a file is created or opened: closing any descriptor of a file releases all fcntl(2)
  /// locks of this process on it, including those of another connection.
  private static let opening = Mutex(())

  /// A connection and its file.
  private final class Opened {
    let connection: SQLiteConnection
    let inode: UInt64

    init(_ connection: consuming SQLiteConnection, inode: UInt64) {
      self.connection = connection
      self.inode = inode
    }
  }

  /// Creates a handle for the database `name` in `folder`.
  ///
  /// The first grant creates the file. Removes the permissions of other users from an existing
  /// file. `lockTimeout` is how long a call waits for other connections, in milliseconds. It is
  /// long because many processes may add grants, and SQLite's locks are not fair.
  package init(
    _ name: String = fileName, in folder: Directory, lockTimeout: Int = 10_000
  ) throws {
    self.folder = folder
    self.name = name
    self.lockTimeout = lockTimeout
    for suffix in ["", "-journal", "-wal", "-shm"] { try folder.makePrivate(name + suffix) }
  }

  private var path: String { folder.path(of: name) }

  /// Closes the connection.
  ///
  /// The next call opens it again. The last connection that closes the database checkpoints the
  /// write-ahead log.
  package func close() { opened.withLock { $0 = nil } }

  // MARK: Adding

  /// Adds `grants` in one commit and returns the grant of each transaction, in the same order.
  ///
  /// If a transaction was granted before, its result is the existing grant if the payment is the
  /// same, and `transactionExists` otherwise. The other grants are still added.
  package func add(_ grants: [Grant]) throws -> [Result<Grant, ContentError>] {
    guard !grants.isEmpty else { return [] }
    try folder.fileSystem.check(.journal, path)
    let results = try SQLiteJournal.explainingSpace(in: folder) {
      try withConnection(creating: true) { connection in
        var results: [Result<Grant, ContentError>] = []
        try connection.transaction { connection in
          results = try grants.map { try add($0, connection) }
        }
        return results
      }
    }
    folder.fileSystem.didCommit?(path)
    return results ?? []
  }

  private func add(_ grant: Grant, _ connection: borrowing SQLiteConnection) throws
    -> Result<Grant, ContentError>
  {
    if let known = try rows(
      GrantQuery.transaction, [.text(grant.transactionIdentifier)], connection
    )
    .first?.grant {
      return known.payment.answers(grant.payment)
        ? .success(known) : .failure(.transactionExists(known, for: grant.payment))
    }
    try connection.run(
      GrantQuery.insertion,
      [
        .text(grant.transactionIdentifier), Self.value(of: grant.payment.applicationUsername),
        .text(grant.payment.productIdentifier.rawValue), .integer(Int64(grant.payment.quantity)),
        .real(grant.date.timeIntervalSince1970),
      ])
    return .success(grant)
  }

  // MARK: Queries

  /// All grants of `account`, oldest first; nil is the library's own account.
  package func grants(account: String?) throws -> [Grant] {
    // Sorted here, because SQLite would sort in a temporary file.
    try rows(GrantQuery.account, [Self.value(of: account)])
      .sorted { $0.sequence < $1.sequence }.map(\.grant)
  }

  /// The first grant of each product of `account`, oldest first.
  package func originalGrants(account: String?) throws -> [Grant] {
    try rows(GrantQuery.originals, [Self.value(of: account)]).map(\.grant)
  }

  /// The first grant of `product` to `account`; nil if it does not exist.
  package func originalGrant(of product: ProductIdentifier, account: String?) throws -> Grant? {
    try rows(GrantQuery.original, [Self.value(of: account), .text(product.rawValue)]).first?.grant
  }

  /// The last grant of `product` to `account`; nil if it does not exist.
  package func latestGrant(of product: ProductIdentifier, account: String?) throws -> Grant? {
    try rows(GrantQuery.latest, [Self.value(of: account), .text(product.rawValue)]).first?.grant
  }

  private typealias Row = (sequence: Int64, grant: Grant)

  private func rows(_ sql: String, _ values: [SQLiteConnection.Value]) throws -> [Row] {
    try folder.fileSystem.check(.read, path)
    return try withConnection(creating: false) { try rows(sql, values, $0) } ?? []
  }

  private func rows(
    _ sql: String, _ values: [SQLiteConnection.Value], _ connection: borrowing SQLiteConnection
  ) throws -> [Row] {
    var rows: [Row] = []
    try connection.query(sql, values) { row in
      let id = row.text(1)
      guard let product = try? ProductIdentifier(validating: row.text(2)) else {
        throw ContentError.damagedGrants(path, "the product of transaction \(id) is invalid")
      }
      let payment = Payment(
        productIdentifier: product, quantity: Int(row.integer(3)),
        applicationUsername: row.optionalText(4))
      rows.append(
        (
          row.integer(0),
          Grant(
            transactionIdentifier: id, date: Date(timeIntervalSince1970: row.real(5)),
            payment: payment)
        ))
    }
    return rows
  }

  private static func value(of account: String?) -> SQLiteConnection.Value {
    account.map { .text($0) } ?? .null
  }

  // MARK: The connection

  /// Calls `body` with the connection; nil if there is no database and none is created.
  private func withConnection<Value: Sendable>(
    creating: Bool, _ body: (borrowing SQLiteConnection) throws -> Value
  ) throws -> Value? {
    try opened.withLock { opened in
      // Another file may have replaced it, such as a restored backup. Writes to the old file would
      // be lost.
      let inode = try folder.status(of: name)?.identity.inode
      if opened?.inode != inode { opened = nil }
      if opened == nil { opened = try open(creating: creating) }
      guard let current = opened else { return nil }
      do {
        return try body(current.connection)
      } catch {
        // Open it again next time: the file may have been repaired in place. If this is the last
        // connection, closing it also removes what a failed commit has left in the log.
        opened = nil
        throw error
      }
    }
  }

  private func open(creating: Bool) throws -> Opened? {
    try Self.opening.withLock { _ in
      if creating, try folder.status(of: name) == nil { try create() }
      guard let status = try folder.status(of: name) else { return nil }
      try folder.makePrivate(name)
      try folder.createMappedFile("\(name)-shm")
      let connection = try SQLiteConnection(path: path, .existing, of: .grants)
      try connection.execute("PRAGMA busy_timeout = \(lockTimeout)")
      guard try GrantsSchema.prepare(connection, path: path, creating: creating) else { return nil }
      return Opened(connection, inode: status.identity.inode)
    }
  }

  /// Creates an empty file.
  ///
  /// SQLite would create it with permissions for other users.
  private func create() throws {
    do {
      _ = try folder.createFile(name, mode: 0o600)
    } catch {
      // Another process may have created it in the meantime.
      guard try folder.status(of: name) != nil else { throw error }
    }
  }
}

extension ContentError {
  fileprivate static func transactionExists(_ known: Grant, for payment: Payment) -> ContentError {
    let product = payment.productIdentifier
    let isOfAccount = known.payment.applicationUsername == payment.applicationUsername
    return ContentError(
      .transactionExists,
      "The transaction identifier \(known.transactionIdentifier) exists for another payment: "
        + "expected \(payment.quantity) of \(product), found \(known.payment.quantity) of "
        + known.payment.productIdentifier.rawValue + (isOfAccount ? "" : " for another account"),
      remedy: "Buy the product again. A new purchase has a new transaction identifier",
      subject: product.rawValue)
  }
}
