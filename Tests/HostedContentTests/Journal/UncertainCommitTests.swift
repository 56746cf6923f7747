import HostedModel
import HostedFileIO
import Foundation
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedJournal

/// Failed commits that a crash may bring back, with real SQLite.
@Suite("Commits whose outcome is uncertain", .timeLimit(.hang))
struct UncertainCommitTests {
  private let folder: TemporaryFolder
  private let journal: SQLiteJournal
  private let path: String

  init() throws {
    #expect(FailingSync.isInstalled)
    folder = try TemporaryFolder()
    journal = try SQLiteJournal(
      in: FileSystem.real.directory(at: folder.path("library"), creating: true))
    path = folder.path("library/\(SQLiteJournal.fileName)")
  }

  private func record(_ id: TransactionID, _ sequence: Int) throws -> TransactionRecord {
    TransactionRecord(
      id: id, sequence: sequence, payment: Payment(productIdentifier: "a"), status: .purchasing)
  }

  /// Returns the transactions that another process finds if this one is killed now.
  private func afterKill(_ name: String) throws -> [TransactionID] {
    try FileManager.default.copyItem(atPath: folder.path("library"), toPath: folder.path(name))
    try? FileManager.default.removeItem(
      atPath: folder.path("\(name)/\(SQLiteJournal.fileName)-shm"))
    return try SQLiteJournal(in: FileSystem.real.directory(at: folder.path(name)))
      .transactions().map(\.id)
  }

  @Test(.slow)
  func `a failed sync leaves a commit that recovery applies, until another one is written`()
    throws
  {
    try journal.commit([.finish(record("finished", 1))])
    FailingSync.set(true, at: path)
    #expect(throws: UncertainCommit.self) { try journal.commit([.add(record("a", 2))]) }
    #expect(try journal.transactions().isEmpty)
    #expect(try afterKill("one") == ["a"])
    FailingSync.set(false, at: path)
    // A transaction that fails alone or writes nothing does not overwrite the log.
    let again = JournalChange.finish(try record("finished", 1))
    #expect(throws: UncertainCommit.self) { try journal.commit([again]) }
    try journal.forget(ProductIdentifier("x"), ContentVersion("1.0"))
    #expect(throws: UncertainCommit.self) { try journal.commit([again]) }
    #expect(try afterKill("two") == ["a"])
    try journal.commit([.add(record("b", 3))])
    #expect(try afterKill("three") == ["b"])
    #expect(throws: ContentError.self) { try journal.commit([again]) }
  }

  @Test func `a retry of a commit whose sync failed makes the same rows durable`() throws {
    FailingSync.set(true, at: path)
    let change = JournalChange.add(try record("a", 1))
    #expect(throws: UncertainCommit.self) { try journal.commit([change]) }
    FailingSync.set(false, at: path)
    try journal.commit([change])
    #expect(try journal.transactions().map(\.id) == ["a"])
    #expect(try afterKill("one") == ["a"])
  }

  @Test func `on a full disk a failed commit is certain`() throws {
    FailingSync.setFull(true, at: path)
    let error = #expect(throws: ContentError.self) { try journal.commit([.add(record("a", 1))]) }
    #expect(error?.code == .diskFull)
    #expect(try afterKill("one").isEmpty)
    FailingSync.setFull(false, at: path)
    try journal.commit([.add(record("b", 1))])
    #expect(try afterKill("two") == ["b"])
  }

  @Test func `what a killed process has left in the log is synced before it is read`() throws {
    try journal.commit([.add(record("a", 1))])
    for (name, isFailing) in [("one", false), ("two", true)] {
      // As after the end of the process: the log has the order, maybe only in the page cache.
      try FileManager.default.copyItem(atPath: folder.path("library"), toPath: folder.path(name))
      let synced = Watched<[String]>([])
      let files = FileSystem { operation, path in
        guard operation == .sync else { return }
        synced.change { $0.append(path) }
        if isFailing { throw FaultPlan.diskFull }
      }
      let found = Result {
        try SQLiteJournal(in: files.directory(at: folder.path(name))).transactions().map(\.id)
      }
      let log = folder.path("\(name)/\(SQLiteJournal.fileName)-wal")
      #expect(synced.value.contains(log))
      if isFailing {
        #expect(throws: ContentError.self) { try found.get() }
      } else {
        #expect(try found.get() == ["a"])
      }
    }
    withExtendedLifetime(journal) {}
  }
}
