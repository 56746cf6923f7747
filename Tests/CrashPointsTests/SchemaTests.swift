import HostedDatabase
@testable import HostedJournal
import HostedModel
import ContentStore
import HostedCrashPoints
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import Testing

/// Journals and indexes of other versions of this software.
struct SchemaTests {
  private let key: ContentKey
  private let folder: TemporaryFolder
  private let path: String

  /// Creates a journal with a pin.
  init() throws {
    key = ContentKey(ProductIdentifier("com.example.a"), version: ContentVersion("1.0"))
    folder = try TemporaryFolder()
    path = folder.path(SQLiteJournal.fileName)
    let journal = try SQLiteJournal(in: folder.opened())
    try journal.setPin(true, on: key)
  }

  /// A future schema: one step adds a column, another fills it.
  private static let later = JournalSchema(
    tables: JournalSchema.current.tables,
    migrations: JournalSchema.current.migrations + [
      "ALTER TABLE pin ADD COLUMN note TEXT", "UPDATE pin SET note = 'from 1.0'",
    ])

  private func version() throws -> Int64 {
    var version: Int64 = 0
    try SQLiteConnection(path: path, .read).query("PRAGMA user_version") {
      version = $0.integer(0)
    }
    return version
  }

  @Test func `an older journal is migrated step by step and keeps its rows`() throws {
    let connection = try SQLiteConnection(path: path, .existing)
    try Self.later.migrate(connection, path: path)
    var notes: [String] = []
    try connection.query("SELECT content, note FROM pin") { notes += [$0.text(0), $0.text(1)] }
    #expect(notes == ["com.example.a", "from 1.0"])
    #expect(try version() == Int64(Self.later.version))
    try Self.later.check(connection, path: path)
  }

  @Test func `a journal of version 1 keeps its notices and gets the tables of sales`() throws {
    do {
      let connection = try SQLiteConnection(path: path, .existing)
      try connection.execute(
        """
        ALTER TABLE finished_transaction DROP COLUMN account;
        DROP TABLE revoked_product;
        DROP TABLE finish_notice;
        CREATE TABLE finish_notice (id TEXT PRIMARY KEY, number TEXT NOT NULL)
          STRICT, WITHOUT ROWID;
        INSERT INTO finished_transaction VALUES ('t', 'com.example.a', 1, 0);
        INSERT INTO finish_notice VALUES ('t', 'n');
        PRAGMA user_version = 1
        """)
    }
    let journal = try SQLiteJournal(in: folder.opened())
    #expect(try version() == 2)
    let payment = Payment(productIdentifier: key.contentIdentifier)
    #expect(
      try journal.readQueue().notices
        == [FinishNotice(transaction: "t", number: "n", payment: payment)])
    #expect(try journal.accounts(of: key.contentIdentifier) == [nil])
    try journal.setRevoked(true, [key.contentIdentifier])
    #expect(try journal.revokedProducts() == [key.contentIdentifier])
    #expect(try journal.pins() == [key])
  }

  @Test func `a migration that fails changes nothing`() throws {
    let broken = JournalSchema(
      tables: Self.later.tables, migrations: Self.later.migrations + ["UPDATE nothing SET a = 1"])
    do {
      let connection = try SQLiteConnection(path: path, .existing)
      let error = #expect(throws: ContentError.self) {
        try broken.migrate(connection, path: path)
      }
      #expect(error?.code == .journalFailed)
    }
    #expect(try version() == Int64(JournalSchema.current.version))
    #expect(try SQLiteJournal(in: folder.opened()).pins() == [key])
  }

  @Test func `a journal with a negative schema is refused`() throws {
    try SQLiteConnection(path: path, .existing).execute("PRAGMA user_version = -1")
    let error = #expect(throws: ContentError.self) { try SQLiteJournal(in: folder.opened()) }
    #expect(error?.code == .journalFailed)
  }

  @Test func `a reader refuses an older journal and says how to migrate it`() throws {
    let connection = try SQLiteConnection(path: path, .read)
    let error = #expect(throws: ContentError.self) { try Self.later.check(connection, path: path) }
    #expect(error?.code == .journalFailed)
    let (found, expected) = (JournalSchema.current.version, Self.later.version)
    #expect(error?.message.contains("has schema \(found), expected \(expected)") == true)
  }

  @Test(arguments: [false, true])
  func `a journal of a newer version is refused and not changed`(
    isInLog: Bool
  ) throws {
    let world = try World()
    _ = try StoreFolder.create(at: world.storePath)
    try world.queue().close()
    let copy = world.libraryPath("copy")
    do {
      let folder = try FileSystem.real.directory(at: world.libraryPath())
      let journal = try SQLiteJournal(in: folder)
      try journal.write {
        try $0.execute("PRAGMA user_version = \(JournalSchema.current.version + 1)")
      }
      // While the journal is open, the newer version is only in its log.
      if isInLog { try FileManager.default.copyItem(atPath: world.libraryPath(), toPath: copy) }
    }
    if !isInLog { try FileManager.default.copyItem(atPath: world.libraryPath(), toPath: copy) }
    let files = ["journal.sqlite", "journal.sqlite-wal"].map { URL(filePath: "\(copy)/\($0)") }
    let before = try files.map { try Data(contentsOf: $0) }
    #expect(before[1].isEmpty != isInLog)
    for _ in 0..<2 {
      let error = #expect(throws: ContentError.self) {
        _ = try world.queue("copy")
      }
      #expect(error?.code == .libraryNewer)
      #expect(error?.message.contains("\(JournalSchema.current.version + 1)") == true)
      #expect(throws: ContentError.self) { try LibraryReader(URL(filePath: copy)).pins() }
      #expect(try files.map { try Data(contentsOf: $0) } == before)
    }
  }

  @Test func `the error for a newer index says that newer software is needed`() throws {
    var bytes = PackageIndex(packageLength: 0, blockLength: 4096, blocks: [], files: []).encoded
    bytes[4] += 1
    let error = #expect(throws: ContentError.self) { try PackageIndex(encoded: bytes) }
    #expect(error?.code == .formatUnknown)
    #expect(throws: ContentError.self) { try PackageIndex(encoded: Array("{}".utf8)) }
  }
}
