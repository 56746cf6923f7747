import HostedModel
import HostedDatabase
import HostedFileIO
import Foundation
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("A ledger in a SQLite file", .waiting, .timeLimit(.hang))
struct SQLiteLedgerTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let name = SQLiteLedger.fileName
  private var path: String { folder.path(Self.name) }

  private static func ledger(
    in folder: TemporaryFolder, _ fileSystem: FileSystem = .real, lockTimeout: Int = 10_000
  ) throws -> Ledger {
    Ledger(try SQLiteLedger(in: folder.opened(fileSystem), lockTimeout: lockTimeout))
  }

  private func ledger() throws -> Ledger { try Self.ledger(in: folder) }

  @Test func `each look-up uses an index and reads only matching rows`() throws {
    try ledger().buy(.of("t"))
    let connection = try SQLiteConnection(path: path, .existing, of: .ledger)
    let lookUps = [
      (LedgerStatements.transaction, 1), (LedgerStatements.all, 2), (LedgerStatements.history, 4),
      (LedgerStatements.entitlements, 4), (LedgerStatements.owned, 2),
      (LedgerStatements.original, 3), (LedgerStatements.latest, 3),
      (LedgerStatements.originals, 2), (LedgerStatements.sequence, 1),
      (LedgerStatements.repeats, 5), (LedgerStatements.waiting, 2),
      (LedgerStatements.saleCount, 1), (LedgerStatements.purchaseErasure, 2),
      (LedgerStatements.requestedEvent, 2), (LedgerStatements.eventsDeletion, 1),
      (LedgerStatements.accountErasure, 4),
      (LedgerStatements.deferredBefore, 2), (LedgerStatements.failedBefore, 3),
      (LedgerStatements.repeatsBefore, 3),
    ]
    for (sql, count) in lookUps {
      var plan: [String] = []
      let values = Array(repeating: SQLiteConnection.Value.text("a"), count: count)
      try connection.query("EXPLAIN QUERY PLAN " + sql, values) { plan.append($0.text(3)) }
      // Not those of the recursive table.
      let steps = plan.filter { step in
        ["SEARCH", "SCAN"].contains { step.hasPrefix($0) }
          && !["CONSTANT", "owned"].contains { step.contains($0) }
      }
      #expect(!steps.isEmpty)
      let isOfState = sql.contains("state = 'deferred'") || sql.contains("state = 'failed'")
      #expect(!isOfState || plan[0].contains("INDEX purchase_state ("), "\(sql): \(plan)")
      for step in steps {
        #expect(step.hasPrefix("SEARCH") && step.contains("USING"), "\(sql): \(plan)")
      }
      // Only the keys of the originals are sorted.
      #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(sql): \(plan)")
    }
  }

  @Test func `a database that another connection has locked is a retryable error`() throws {
    let ledger = try Self.ledger(in: folder, lockTimeout: 1)
    try ledger.buy(.of("t1"))
    let other = try SQLiteConnection(path: path, .existing, of: .ledger)
    try other.execute("BEGIN IMMEDIATE")
    let error = #expect(throws: ContentError.self) { try ledger.buy(.of("t2")) }
    #expect(error?.code == .ledgerFailed)
    #expect(error?.isRetryable == true)
    // Look-ups do not wait for a writer.
    #expect(try ledger.owned("ann") == ["t1"])
    try other.execute("ROLLBACK")
    try ledger.buy(.of("t2"))
    #expect(try ledger.owned("ann") == ["t1", "t2"])
  }

  // MARK: Damaged and unusual files

  @Test func `only the owner can read the files of the database`() throws {
    let ledger = try ledger()
    try ledger.buy(.of("t"))
    for suffix in ["", "-wal", "-shm"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(suffix)")
    }
    withExtendedLifetime(ledger) {}
  }

  /// Returns a copy of the open database's files, with the log cut to `length` bytes.
  private func copy(cuttingLogTo length: Int) throws -> TemporaryFolder {
    let copy = try TemporaryFolder()
    for suffix in ["", "-wal"] {
      let bytes = try Data(contentsOf: URL(filePath: path + suffix))
      let kept = suffix.isEmpty ? bytes : bytes.prefix(length)
      try kept.write(to: URL(filePath: copy.path(Self.name + suffix)))
    }
    return copy
  }

  @Test func `a truncated log loses only purchases of incomplete commits`() throws {
    let ledger = try ledger()
    let log = { try Data(contentsOf: URL(filePath: path + "-wal")).count }
    var ends: [Int] = []
    for number in 0..<3 {
      try ledger.buy(.of("t\(number)"))
      ends.append(try log())
    }
    for length in stride(from: ends[0], through: ends[2], by: 900) + [ends[1] - 1, ends[1]] {
      let copy = try copy(cuttingLogTo: length)
      let expected = (0..<3).filter { ends[$0] <= length }.map { "t\($0)" }
      let found = try Self.ledger(in: copy)
      #expect(try found.owned("ann") == expected, "\(length) of \(ends)")
      #expect(try found.events(after: 0, limit: 9).count == expected.count)
      try found.buy(.of("next"))
      #expect(try found.owned("ann") == expected + ["next"])
    }
  }

  @Test func `what a killed process has left in the log is synced before it is read`() throws {
    let ledger = try ledger()
    try ledger.buy(.of("t"))
    for isFailing in [false, true] {
      // As after the end of the process: the log has the purchase, maybe only in the page cache.
      let copy = try copy(cuttingLogTo: .max)
      let synced = Watched<[String]>([])
      let files = FileSystem { operation, path in
        guard operation == .sync else { return }
        synced.change { $0.append(path) }
        if isFailing { throw FaultPlan.diskFull }
      }
      let found = try Self.ledger(in: copy, files)
      let purchase = Result { try found.purchase("t") }
      #expect(synced.value.first == copy.path("\(Self.name)-wal"))
      if isFailing {
        #expect(throws: ContentError.self) { try purchase.get() }
      } else {
        #expect(try purchase.get()?.transaction == "t")
        // The log and its name.
        #expect(synced.value.count == 2)
        #expect(try found.buy(.of("t")).isRepeated)
      }
    }
    withExtendedLifetime(ledger) {}
  }

  @Test func `a damaged or truncated database is an error and is not replaced`() throws {
    do {
      let ledger = try ledger()
      for start in stride(from: 0, to: 2_000, by: 500) {
        _ = try ledger.commit(
          (start..<start + 500).map { .purchase(try .of("transaction-\($0)")) }, at: .sale)
      }
    }
    let whole = try Data(contentsOf: URL(filePath: path))
    var damaged = whole
    damaged.replaceSubrange(0..<100, with: Data(repeating: 7, count: 100))
    for bytes in [whole.prefix(whole.count / 2), damaged] {
      try bytes.write(to: URL(filePath: path))
      let ledger = try ledger()
      let looked = #expect(throws: ContentError.self) { try ledger.owned("ann") }
      #expect(looked?.code == .ledgerFailed)
      let bought = #expect(throws: ContentError.self) { try ledger.buy(.of("t")) }
      #expect(bought?.code == .ledgerFailed)
      #expect(bought?.remedy.contains("Keep a copy") == true, "\(String(describing: bought))")
      #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
      // A restored file is used without a restart.
      try whole.write(to: URL(filePath: path))
      #expect(try ledger.owned("ann").count == 2_000)
    }
  }

  @Test func `a row that another program has changed is an error, and not a purchase`() throws {
    let ledger = try ledger()
    try ledger.buy(.of("t"))
    let other = try SQLiteConnection(path: path, .existing, of: .ledger)
    for (column, wrong) in [("state", "sold"), ("product", "a/b"), ("contents", "x")] {
      try other.execute("BEGIN; UPDATE purchase SET \(column) = '\(wrong)'; COMMIT")
      let error = #expect(throws: ContentError.self) { try ledger.purchase("t") }
      #expect(error?.code == .ledgerFailed)
      #expect(error?.cause?.contains(column) == true, "\(String(describing: error))")
      try other.execute(
        "UPDATE purchase SET state = 'purchased', product = 'a', contents = 'content 1.2'")
      #expect(try ledger.owned("ann") == ["t"])
    }
  }

  @Test func `a database of another program or version is refused unchanged`() throws {
    let identifier = 0x4843_4C65
    for statement in [
      "CREATE TABLE t (a)", "PRAGMA user_version = 3", "PRAGMA application_id = 9",
      "PRAGMA application_id = \(identifier); PRAGMA user_version = 1",
      "PRAGMA application_id = \(identifier); PRAGMA user_version = 3",
      "PRAGMA application_id = \(identifier); PRAGMA user_version = 0",
    ] {
      let folder = try TemporaryFolder()
      let path = folder.path(Self.name)
      do { try SQLiteConnection(path: path, .write, of: .ledger).execute(statement) }
      let before = try Data(contentsOf: URL(filePath: path))
      let ledger = try Self.ledger(in: folder)
      for _ in 0..<2 {
        let bought = #expect(throws: ContentError.self) { try ledger.buy(.of("t")) }
        #expect(bought?.code == .ledgerFailed, "\(statement)")
        let looked = #expect(throws: ContentError.self) { try ledger.owned("ann") }
        #expect(looked?.code == .ledgerFailed, "\(statement)")
        guard statement.hasSuffix("user_version = 1") else { continue }
        // Nothing was released with the first schema.
        #expect(bought?.message == "The ledger \(path) has schema 1; this version reads 2")
      }
      #expect(try Data(contentsOf: URL(filePath: path)) == before, "\(statement)")
    }
  }

  @Test func `an empty file is a ledger without purchases`() throws {
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let ledger = try ledger()
    #expect(try ledger.owned("ann").isEmpty)
    #expect(try Data(contentsOf: URL(filePath: path)).isEmpty)
    try ledger.buy(.of("t"))
    #expect(try ledger.owned("ann") == ["t"])
  }

  @Test func `a replaced or removed file takes effect at once`() throws {
    let ledger = try ledger()
    try ledger.buy(.of("t1"))
    let other = try TemporaryFolder()
    do { try Self.ledger(in: other).buy(.of("t2")) }
    for suffix in ["", "-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: path + suffix)
    }
    #expect(try ledger.owned("ann").isEmpty)
    try FileManager.default.moveItem(atPath: other.path(Self.name), toPath: path)
    try ledger.buy(.of("t3"))
    #expect(try ledger.owned("ann") == ["t2", "t3"])
  }

  @Test(.enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func `a read-only file can be read, and refuses new purchases`() throws {
    do { try ledger().buy(.of("t1")) }
    for item in [folder.path, path] {
      try FileManager.default.setAttributes(
        [
          .ownerAccountID: OtherUser.number, .posixPermissions: item == path ? 0o400 : 0o700,
        ], ofItemAtPath: item)
    }
    let before = try Data(contentsOf: URL(filePath: path))
    let folder = folder
    let (found, error) = try OtherUser.perform {
      let ledger = try Self.ledger(in: folder)
      let error = #expect(throws: ContentError.self) { try ledger.buy(.of("t2")) }
      return (try ledger.owned("ann"), error)
    }
    #expect(found == ["t1"])
    #expect(error?.code == .notPermitted, "\(String(describing: error))")
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }

  @Test(arguments: [[], ["t1"]])
  func `if any step fails, a retry records the purchase once`(before: [String]) throws {
    var isDone = false
    var step = 0
    while !isDone {
      step += 1
      let folder = try TemporaryFolder()
      _ = try Self.ledger(in: folder).commit(
        before.map { .purchase(try .of($0)) }, at: .sale)
      let plan = FaultPlan(failing: step)
      let failing = try? Self.ledger(in: folder, plan.fileSystem)
      let bought = try? failing?.buy(.of("t2"))
      #expect((bought == nil) == plan.hasFired, "step \(step)")
      isDone = !plan.hasFired
      if !isDone { try (failing ?? Self.ledger(in: folder)).buy(.of("t2")) }
      let found = try Self.ledger(in: folder)
      #expect(try found.owned("ann") == before + ["t2"])
      #expect(try found.events(after: 0, limit: 9).count == before.count + 1)
    }
    #expect(step > 5)
  }
}
