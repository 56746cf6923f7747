import HostedConcurrency
import HostedModel
import Foundation
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Backups of a SQLite ledger, and its server's lock", .waiting, .timeLimit(.hang))
struct LedgerBackupTests {
  private let folder: TemporaryFolder
  private let database: SQLiteLedger
  private let ledger: Ledger

  init() throws {
    folder = try TemporaryFolder()
    database = try SQLiteLedger(in: folder.opened())
    ledger = Ledger(database)
    try ledger.adopt(origin: database.origin)
  }

  private var path: String { folder.path(SQLiteLedger.fileName) }
  private var backup: String { folder.path("backup") }

  /// Opens the file again, as a server does when it starts.
  private func reopened() throws -> Ledger {
    let database = try SQLiteLedger(in: folder.opened())
    let ledger = Ledger(database)
    try ledger.adopt(origin: database.origin)
    return ledger
  }

  @Test func `a restart keeps the incarnation`() throws {
    try ledger.buy(.of("t"))
    let position = try #require(try ledger.head()).position
    try ledger.adopt(origin: database.origin)
    #expect(try ledger.head()?.has(position) == true)
    ledger.close()
    #expect(try reopened().head()?.has(position) == true)
  }

  /// The ways to make a backup, and to put it in the place of the ledger.
  enum Restore: CaseIterable {
    case moved, copiedOver, plainCopy
  }

  @Test(arguments: Restore.allCases)
  func `after a restore, old positions are refused, and a lost purchase is recorded again`(
    restore: Restore
  ) throws {
    try ledger.buy(.of("t1"))
    let early = try #require(try ledger.head()).position
    if restore == .plainCopy {
      ledger.close()
      try FileManager.default.copyItem(atPath: path, toPath: backup)
    } else {
      try database.backup(to: backup)
    }
    let sold = try #require(try ledger.buy(.of("t2")).purchase)
    let late = try #require(try ledger.head()).position
    ledger.close()

    switch restore {
    case .moved, .plainCopy:
      try FileManager.default.removeItem(atPath: path)
      try FileManager.default.moveItem(atPath: backup, toPath: path)
    case .copiedOver:
      // The file keeps its inode.
      let file = try FileHandle(forWritingTo: URL(filePath: path))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data(contentsOf: URL(filePath: backup)))
      try file.close()
    }
    let restored = try reopened()
    let head = try #require(try restored.head())
    #expect(!head.has(early) && !head.has(late))
    #expect(try restored.owned("ann") == ["t1"])
    let again = try restored.buy(.of("t2"))
    #expect(!again.isRepeated)
    #expect(again.purchase?.transaction == sold.transaction)
    #expect(try restored.owned("ann") == ["t1", "t2"])
    #expect(try reopened().head()?.incarnation == head.incarnation)
  }

  @Test func `a backup while purchases are recorded is a complete ledger`() throws {
    let ledger = ledger
    let count = Watched(0)
    let isEnough = Mutex(false)
    let writing = Background {
      while !isEnough.withLock({ $0 }) {
        let number = count.value
        try ledger.buy(.of("t\(number)"))
        count.change { $0 = number + 1 }
      }
    }
    for round in 1...3 {
      count.block { $0 >= 10 * round }
      let before = count.value
      let copy = try TemporaryFolder()
      try database.backup(to: copy.path(SQLiteLedger.fileName))
      // One more may be recorded, but not counted yet.
      let after = count.value + 1
      let names = try FileManager.default.contentsOfDirectory(atPath: copy.path)
      #expect(names == [SQLiteLedger.fileName])
      let attributes = try FileManager.default.attributesOfItem(
        atPath: copy.path(SQLiteLedger.fileName))
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
      let found = Ledger(try SQLiteLedger(in: copy.opened()))
      let owned = try found.owned("ann")
      #expect((before...after).contains(owned.count))
      #expect(owned == owned.indices.map { "t\($0)" })
      #expect(try found.events(after: 0, limit: 10_000).count == owned.count)
    }
    isEnough.withLock { $0 = true }
    try writing.check()
  }

  @Test func `a backup does not replace a file, and a failed one leaves none`() throws {
    try ledger.buy(.of("t"))
    try database.backup(to: backup)
    let error = #expect(throws: ContentError.self) { try database.backup(to: backup) }
    #expect(error?.code == .fileExists)
    #expect(throws: ContentError.self) { try database.backup(to: folder.path("missing/backup")) }

    let other = try TemporaryFolder()
    let missing = try SQLiteLedger(in: other.opened())
    #expect(throws: ContentError.self) { try missing.backup(to: other.path("backup")) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path).isEmpty)
  }

  @Test func `a second server on the same folder is refused until the first one ends`() throws {
    do {
      let lock = try ServerLock(in: folder.directory)
      let error = #expect(throws: ContentError.self) { try ServerLock(in: folder.opened()) }
      #expect(error?.code == .storeLocked)
      #expect(error?.isRetryable == true)
      withExtendedLifetime(lock) {}
    }
    let lock = try ServerLock(in: folder.opened())
    withExtendedLifetime(lock) {}
  }
}
