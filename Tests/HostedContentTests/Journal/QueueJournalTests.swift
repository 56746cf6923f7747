import HostedDatabase
@testable import HostedJournal
import HostedModel
import HostedFileIO
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

/// The queue's rows in the journal.
@Suite("The queue's journal", .timeLimit(.hang))
struct QueueJournalTests {
  private static let error = ContentError(.fileFailed, "It failed", remedy: "Try again")

  private static func offer(_ product: String) throws -> ContentOffer {
    let digest = try #require(Digest(bytes: [UInt8](repeating: 7, count: 32)))
    let file = SignedFile(path: "targets/\(product)", length: 10, digest: digest)
    return ContentOffer(
      productIdentifier: try ProductIdentifier(validating: product),
      contentIdentifier: try ProductIdentifier(validating: product), version: ContentVersion("1.0"),
      installedSize: 20, package: file, index: file)
  }

  /// Records that together use every field.
  private static func records() throws -> [TransactionRecord] {
    let payment = Payment(productIdentifier: "a")
    let other = Payment(
      productIdentifier: ProductIdentifier("b"), quantity: 3, applicationUsername: "me\0you")
    var failed = DownloadRecord(
      of: "r", number: 2, sharing: Shared(try offer("b")), status: .failed(error))
    failed.keepsCurrent = true
    return [
      TransactionRecord(id: "p", sequence: 1, payment: other, status: .purchasing),
      TransactionRecord(id: "f", sequence: 2, payment: payment, status: .failed(error)),
      TransactionRecord(
        id: "o", sequence: 3, payment: payment,
        status: .purchased(
          Grant(
            transactionIdentifier: "o", date: Date(timeIntervalSince1970: 1.5), payment: payment)),
        downloads: [DownloadRecord(of: "o", number: 1, sharing: Shared(try offer("a")))]),
      TransactionRecord(
        id: "r", sequence: 7, payment: payment,
        status: .restored(
          Grant(
            transactionIdentifier: "r", date: Date(timeIntervalSince1970: 2), payment: other,
            receipt: "signed"),
          original: Grant(
            transactionIdentifier: "9", date: Date(timeIntervalSince1970: 2), payment: other,
            receipt: "signed")),
        downloads: [
          DownloadRecord(
            of: "r", number: 1, sharing: Shared(try offer("a")), status: .waiting(isRequested: true)
          ),
          failed,
        ]),
    ]
  }

  private static func journal(_ folder: TemporaryFolder) throws -> SQLiteJournal {
    try SQLiteJournal(in: FileSystem.real.directory(at: folder.path("library"), creating: true))
  }

  @Test("Records are read back unchanged and in order, with receipts on request")
  func roundTrip() throws {
    let folder = try TemporaryFolder()
    let records = try Self.records()
    try Self.journal(folder).commit(records.reversed().map { .save($0) })
    let journal = try Self.journal(folder)
    #expect(try journal.transactions() == records.map(\.withoutReceipt))
    #expect(try journal.receipt(of: "r") == "signed")
    #expect(try journal.receipt(of: "o") == nil)
    // The receipt stays when the record is saved without it, and after it is finished.
    var restored = try #require(try journal.transactions().last)
    restored.downloads[0].status = .finished
    try journal.commit([.save(restored)])
    #expect(try journal.transactions().last == restored)
    try journal.commit([.finish(restored)])
    #expect(try journal.transactions().map(\.id) == ["p", "f", "o"])
    #expect(try journal.receipt(of: "r") == "signed")
  }

  @Test("An offer that many downloads share has one row, and one storage in memory")
  func sharedOffers() throws {
    let folder = try TemporaryFolder()
    var records = try Self.records()
    try Self.journal(folder).commit(records.map { .save($0) })
    let journal = try Self.journal(folder)
    records = try journal.transactions()
    #expect(records[2].downloads[0].sharedOffer === records[3].downloads[0].sharedOffer)
    try journal.commit([.finish(records[3])])
    // The next start removes offers without downloads.
    let next = try Self.journal(folder)
    var rows = 0
    try next.read { try $0.query("SELECT count(*) FROM queue_offer") { rows = Int($0.integer(0)) } }
    #expect(rows == 1)
  }

  @Test("A seller's number belongs to one order, even in one commit, after its end and a restart")
  func orderNumbers() throws {
    let folder = try TemporaryFolder()
    let records = try Self.records()
    let bought = records[2]
    var journal = try Self.journal(folder)
    try journal.commit([.answer(number: "7", transaction: "p"), .save(records[0])])
    // If the number is the transaction's own identifier, that is sufficient.
    try journal.commit([.answer(number: "o", transaction: "o"), .save(bought)])
    for _ in 0..<2 {
      // The same order may get its response again.
      try journal.commit([.answer(number: "7", transaction: "p")])
      try journal.commit([.answer(number: "o", transaction: "o")])
      for number in ["7", "o"] {
        let error = #expect(throws: ContentError.self) {
          try journal.commit([.save(records[1]), .answer(number: number, transaction: "x")])
        }
        #expect(error?.code == .answerMismatch)
      }
      #expect(throws: ContentError.self) {
        try journal.commit([.answer(number: "7", transaction: "7")])
      }
      #expect(throws: ContentError.self) {
        try journal.commit([
          .answer(number: "8", transaction: "x"), .answer(number: "8", transaction: "y"),
        ])
      }
      try journal.commit([.answer(number: "9", transaction: "z")])
      #expect(try !journal.transactions().contains { $0.id == "f" })
      try journal.commit(journal.transactions().map { .finish($0) })
      journal = try Self.journal(folder)
    }
  }

  @Test(
    "A transaction whose columns contradict its state is not loaded",
    arguments: [
      "UPDATE queue_transaction SET error = NULL WHERE id = 'f'",
      "UPDATE queue_transaction SET grant_number = NULL WHERE id = 'o'",
      "UPDATE queue_transaction SET original = NULL WHERE id = 'r'",
      "UPDATE queue_transaction SET state = 0 WHERE id = 'o'",
      "UPDATE queue_download SET error = NULL WHERE sequence = 7",
    ])
  func columnsOfAnotherState(sql: String) throws {
    let folder = try TemporaryFolder()
    let journal = try Self.journal(folder)
    try journal.commit(Self.records().map { .save($0) })
    try journal.write { try $0.execute(sql) }
    let queue = try Self.journal(folder).readQueue()
    #expect(queue.transactions.count == 3)
    #expect(queue.unreadable.map(\.code) == [.journalFailed])
  }

  @Test("A failed commit changes nothing, and its shared offer is saved later")
  func failedCommit() throws {
    let folder = try TemporaryFolder()
    let journal = try Self.journal(folder)
    let record = try Self.records()[2]
    try journal.commit([.finish(Self.records()[0])])
    #expect(throws: ContentError.self) {
      try journal.commit([.save(record), .finish(Self.records()[0])])
    }
    #expect(try journal.transactions().isEmpty)
    try journal.commit([.save(record)])
    #expect(try Self.journal(folder).transactions() == [record])
  }

  /// A list that uses every field.
  private static func files() throws -> [InstalledFile] {
    let digest = try #require(Digest(bytes: [UInt8](repeating: 9, count: 32)))
    return [
      InstalledFile(entry: IndexedFile(path: "Contents", kind: .directory), identity: nil),
      InstalledFile(
        entry: IndexedFile(path: "Contents/a", kind: .file, size: 5, digest: digest),
        identity: FileIdentity(inode: .max, size: 5, modified: -1, changed: .max)),
      InstalledFile(
        entry: IndexedFile(path: "Contents/b", kind: .link, target: "a"), identity: nil),
      InstalledFile(
        entry: IndexedFile(path: "Contents/\u{338}c", kind: .file, size: 1 << 40, digest: digest),
        identity: FileIdentity(inode: 0, size: 1 << 40, modified: 1, changed: 2)),
    ]
  }

  @Test("The files of a content are stored, and removed with it")
  func keptFiles() throws {
    let folder = try TemporaryFolder()
    let identifier = ProductIdentifier("a")
    let version = ContentVersion("1.0")
    let content = InstalledContent(
      contentIdentifier: identifier, productIdentifier: identifier, version: version, size: 6,
      entryCount: 4, date: Date(timeIntervalSince1970: 1))
    try Self.journal(folder).announce(content, files: Self.files().reversed(), signers: nil)
    let journal = try Self.journal(folder)
    #expect(try journal.files(of: identifier, version) == Self.files())
    try journal.forget(identifier, version)
    var rows = 0
    try journal.read {
      try $0.query("SELECT count(*) FROM content_files") { rows = Int($0.integer(0)) }
    }
    #expect(rows == 0)
  }

  @Test("A damaged list of files is reported and not used")
  func damagedFiles() throws {
    let bytes = InstalledFile.encoded(try Self.files())
    #expect(InstalledFile.decoded(bytes) == (try Self.files()))
    #expect(InstalledFile.encoded(try Self.files().reversed()) == bytes)
    for count in bytes.indices { #expect(InstalledFile.decoded(Array(bytes[..<count])) == nil) }
    #expect(InstalledFile.decoded(bytes + [0]) == nil)
    #expect(InstalledFile.decoded([2] + bytes.dropFirst()) == nil)
    let folder = try TemporaryFolder()
    let identifier = ProductIdentifier("a")
    let version = ContentVersion("1.0")
    let journal = try Self.journal(folder)
    try journal.announce(
      InstalledContent(
        contentIdentifier: identifier, productIdentifier: identifier, version: version, size: 6,
        entryCount: 4, date: Date(timeIntervalSince1970: 1)), files: Self.files(), signers: nil)
    try journal.write { try $0.execute("UPDATE content_files SET files = x'01ff'") }
    let error = #expect(throws: ContentError.self) {
      try journal.files(of: identifier, version)
    }
    #expect(error?.code == .journalFailed)
    for value in ["content = '../../etc'", "product = ''", "version = '../1'"] {
      try journal.write { try $0.execute("UPDATE content SET \(value)") }
      #expect(try journal.announced().isEmpty, "\(value)")
      #expect(try journal.unreadableContents().map(\.code) == [.journalFailed], "\(value)")
    }
  }

  @Test func `the error of a locked journal says who has locked it`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path(SQLiteJournal.fileName)
    let first = try SQLiteConnection(path: path, .write)
    try first.execute("CREATE TABLE t (a); BEGIN EXCLUSIVE")
    let second = try SQLiteConnection(path: path, .write)
    try second.execute("PRAGMA busy_timeout = 0")
    do {
      try second.execute("INSERT INTO t VALUES (1)")
      Issue.record("The journal is not locked")
    } catch let error as ContentError {
      #expect(error.code == .journalFailed)
      #expect(error.message.contains("Another process has locked the journal"))
    }
    try first.execute("ROLLBACK")
  }

  @Test("A pin applies to every spelling of a version, and is removed with it")
  func pins() throws {
    let folder = try TemporaryFolder()
    let journal = try Self.journal(folder)
    let content = ProductIdentifier("a")
    let (short, long) = (ContentVersion("1.0"), ContentVersion("1.0.0"))
    try journal.setPin(true, on: ContentKey(content, version: short))
    try journal.setPin(true, on: ContentKey(content, version: long))
    #expect(try journal.pins().map(\.version.rawValue) == ["1.0.0"])
    try journal.setPin(false, on: ContentKey(content, version: short))
    #expect(try journal.pins().isEmpty)
    try journal.setPin(true, on: ContentKey(content, version: long))
    try journal.forget(content, short)
    #expect(try journal.pins().isEmpty)
  }

  /// Copies a database, with the rollback journal of an open transaction, into a library's folder.
  private static func halfMade(_ folder: TemporaryFolder) throws -> Directory {
    let name = SQLiteJournal.fileName
    try FileManager.default.createDirectory(
      atPath: folder.path("library"), withIntermediateDirectories: true)
    let connection = try SQLiteConnection(path: folder.path(name), .write)
    // A cache of one page forces the others to be written before the end.
    try connection.execute("PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (made BLOB)")
    for _ in 0..<10 { try connection.execute("INSERT INTO half VALUES (zeroblob(10000))") }
    for file in [name, "\(name)-journal"] {
      try FileManager.default.copyItem(
        atPath: folder.path(file), toPath: folder.path("library/\(file)"))
    }
    return try FileSystem.real.directory(at: folder.path("library"))
  }

  @Test(
    "An incompletely created journal is created again by a writer, and is an error for a reader")
  func halfMade() throws {
    let folder = try TemporaryFolder()
    let library = try Self.halfMade(folder)
    let error = #expect(throws: ContentError.self) {
      try SQLiteJournal(in: library, readOnly: true)
    }
    #expect(error?.code == .journalFailed)
    #expect(error?.remedy.contains("get") == true)
    let records = try Self.records()
    try SQLiteJournal(in: library).commit(records.map { .save($0) })
    let journal = try SQLiteJournal(in: library, readOnly: true)
    #expect(try journal.transactions().map(\.id) == records.map(\.id))
  }
}
