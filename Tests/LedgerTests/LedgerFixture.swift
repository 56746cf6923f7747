import HostedConcurrency
import HostedDatabase
import HostedModel
import HostedFileIO
import Foundation
import HostedPostgresLedger
import HostedShop
import HostedTestSupport

/// The databases that a ledger can have; most tests run on both.
enum LedgerBackend: Sendable, CaseIterable {
  case sqlite, postgres

  /// Those that this machine has.
  static let available = allCases.filter { $0 == .sqlite || PostgresServer.isInstalled }
}

/// An empty database of one test.
final class LedgerFixture: Sendable {
  let backend: LedgerBackend
  let folder: TemporaryFolder
  private let postgres: PostgresDatabase?
  private let commits = Mutex(0)

  init(_ backend: LedgerBackend) throws {
    self.backend = backend
    folder = try TemporaryFolder()
    postgres = try backend == .postgres ? PostgresServer.shared().database() : nil
  }

  /// Returns a new user of the database, such as another server; it keeps the fixture.
  func ledger() throws -> Ledger {
    if let postgres {
      let database = try PostgresLedger(url: postgres.url) { [self] sql in
        if sql == "COMMIT" { count() }
      }
      return Ledger(database)
    }
    let files = FileSystem(didCommit: { [self] _ in count() })
    return Ledger(try SQLiteLedger(in: folder.opened(files)))
  }

  /// Runs a statement as another program, and returns the first column of each row.
  func values(_ sql: String) throws -> [String] {
    if let postgres {
      let lines = try postgres.run(sql).split(separator: "\n", omittingEmptySubsequences: false)
      return lines.map { String($0.prefix { $0 != "|" }) }
    }
    let path = folder.path(SQLiteLedger.fileName)
    let connection = try SQLiteConnection(path: path, .existing, of: .ledger)
    var values: [String] = []
    try connection.execute("BEGIN IMMEDIATE")
    try connection.query(sql) { values.append($0.text(0)) }
    try connection.execute("COMMIT")
    return values
  }

  private func count() { commits.withLock { $0 += 1 } }

  /// The number of commits so far.
  var commitCount: Int { commits.withLock { $0 } }

  /// Whether nothing was created.
  var isEmpty: Bool {
    get throws {
      if let postgres {
        return try postgres.run("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == "0"
      }
      return try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty
    }
  }
}

extension Date {
  /// The time of most changes.
  static let sale = Date(timeIntervalSince1970: 1_700_000_000.125)
}

extension PurchaseDraft {
  /// Returns a draft whose digest depends on what is bought, as of a request.
  static func of(
    _ transaction: String, _ product: String = "a", account: AccountID? = "ann",
    state: PurchaseState = .purchased, isSoldOnce: Bool = false, voucher: String? = nil,
    isRestorable: Bool = true
  ) throws -> PurchaseDraft {
    let request = "\(product) \(account.map { "=\($0)" } ?? "-") \(voucher ?? "")"
    return PurchaseDraft(
      transaction: transaction, account: account,
      product: try ProductIdentifier(validating: product), quantity: 2,
      requestDigest: .of(request), state: state,
      contents: [ContentKey("content", version: try ContentVersion(validating: "1.2"))],
      isRestorable: isRestorable, isSoldOnce: isSoldOnce,
      price: SoldPrice(milliunits: 1_990, currency: "EUR"), voucher: voucher.map { Digest.of($0) })
  }

  /// Returns a draft of a product that is sold once to an account.
  static func once(
    _ transaction: String, _ product: String = "a", account: AccountID? = "ann",
    state: PurchaseState = .purchased, voucher: String? = nil
  ) throws -> PurchaseDraft {
    try of(
      transaction, product, account: account, state: state, isSoldOnce: true, voucher: voucher)
  }
}

extension Digest {
  /// Returns a digest of a short text; the bytes are the text itself.
  static func of(_ text: String) -> Digest {
    let bytes = Array(text.utf8) + [UInt8](repeating: 0, count: 32)
    guard text.utf8.count <= 32, let digest = Digest(bytes: bytes.prefix(32)) else {
      preconditionFailure("\(text) is too long")
    }
    return digest
  }
}

extension Ledger {
  /// Makes one change.
  @discardableResult
  func make(_ change: LedgerChange, at date: Date = .sale) throws -> LedgerOutcome {
    try commit([change], at: date)[0].get()
  }

  @discardableResult
  func buy(_ draft: PurchaseDraft, at date: Date = .sale) throws -> LedgerOutcome {
    try make(.purchase(draft), at: date)
  }

  @discardableResult
  func decide(
    _ transaction: String, _ change: PurchaseChange, actor: String? = nil, key: String? = nil
  ) throws -> LedgerOutcome {
    try make(.decide(transaction: transaction, change, actor: actor, key: key))
  }

  func erase(_ accounts: [AccountID]) throws -> [LedgerOutcome] {
    try commit(accounts.map { .erase(account: $0) }, at: .sale).map { try $0.get() }
  }

  /// The events of purchases, as their kinds and transactions.
  func told() throws -> [String] {
    try events(after: 0, limit: 10_000).map { "\($0.kind) \($0.purchase?.transaction ?? "-")" }
  }

  /// The transactions that an account owns, oldest first.
  func owned(_ account: AccountID?) throws -> [String] {
    try owned(account: account).map(\.transaction)
  }
}

/// Runs `body` on `count` threads at the same time, and throws the first error.
///
/// Blocks.
func onThreads(_ count: Int, _ body: @escaping @Sendable (_ number: Int) throws -> Void) throws {
  let errors = Mutex<[any Error]>([])
  let isDone = DispatchSemaphore(value: 0)
  for number in 0..<count {
    Thread.detachNewThread {
      do {
        try body(number)
      } catch {
        errors.withLock { $0.append(error) }
      }
      isDone.signal()
    }
  }
  for _ in 0..<count { isDone.wait() }
  if let error = errors.withLock({ $0.first }) { throw error }
}

/// Work on a thread of its own.
final class Background: Sendable {
  private let result = Watched<Result<Void, any Error>?>(nil)

  init(_ body: @escaping @Sendable () throws -> Void) {
    let result = result
    Thread.detachNewThread {
      let end = Result { try body() }
      result.change { $0 = end }
    }
  }

  var isDone: Bool { result.value != nil }

  /// Blocks until the work is done, and throws its error.
  func check() throws {
    result.block { $0 != nil }
    try result.value?.get()
  }
}
