import HostedModel
import HostedDatabase
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedJournal

/// Rows about the service, which a restart reads again.
@Suite("Notices and revoked products in the journal", .timeLimit(.hang))
struct RevokedProductTests {
  private let folder: TemporaryFolder
  private let a = ProductIdentifier("a")

  init() throws { folder = try TemporaryFolder() }

  private func journal() throws -> SQLiteJournal { try SQLiteJournal(in: folder.opened()) }

  @Test("A notice has the payment of its purchase")
  func notices() throws {
    let accounts: [AccountID?] = [nil, "ada"]
    let notices = accounts.enumerated().map { number, account in
      FinishNotice(
        transaction: TransactionID(rawValue: "t\(number)"), number: "n\(number)",
        payment: Payment(productIdentifier: a, quantity: 3, applicationUsername: account))
    }
    try journal().commit(notices.map { .addNotice($0) })
    #expect(Set(try journal().readQueue().notices) == Set(notices))
    try journal().commit([.removeNotice(transaction: "t0")])
    #expect(try journal().readQueue().notices == [notices[1]])
  }

  @Test("The accounts of one or all products are those of unfinished and finished transactions")
  func accounts() throws {
    #expect(try journal().accounts(of: a).isEmpty)
    let accounts: [AccountID?] = [nil, "ada", "bob"]
    let records = accounts.enumerated().map { index, account in
      TransactionRecord(
        id: TransactionID(rawValue: "t\(index)"), sequence: index + 1,
        payment: Payment(
          productIdentifier: account == "bob" ? "b" : a, applicationUsername: account),
        status: .purchasing)
    }
    try journal().commit(records.map { .add($0) })
    try journal().commit([.finish(records[1])])
    #expect(try journal().accounts(of: a) == [nil, "ada"])
    #expect(try journal().accounts(of: "b") == ["bob"])
    #expect(try journal().accounts(of: nil) == [nil, "ada", "bob"])
  }

  @Test("Revoked products stay until they are handled")
  func revoked() throws {
    try journal().setRevoked(true, ["b", a])
    try journal().setRevoked(true, [a])
    #expect(try journal().revokedProducts() == [a, "b"])
    try journal().setRevoked(false, [a])
    #expect(try journal().revokedProducts() == ["b"])
  }

  @Test func `an unreadable revoked product does not hide the others, and a repair removes it`()
    throws
  {
    let journal = try journal()
    try journal.setRevoked(true, [a])
    try journal.write { try $0.execute("INSERT INTO revoked_product VALUES ('../b')") }
    #expect(try journal.revokedProducts() == [a])
    #expect(try journal.removeUnreadable().map(\.subject) == ["the revoked product ../b"])
    #expect(try journal.removeUnreadable().isEmpty)
    #expect(try journal.revokedProducts() == [a])
  }

  @Test func `an unreadable finished transaction does not hide the others`() throws {
    let journal = try journal()
    let records = (1...2).map {
      TransactionRecord(
        id: TransactionID(rawValue: "t\($0)"), sequence: $0, payment: Payment(productIdentifier: a),
        status: .purchasing)
    }
    try journal.commit(records.map { .add($0) })
    try journal.commit(records.map { .finish($0) })
    try journal.write {
      try $0.execute("UPDATE finished_transaction SET product = '../a' WHERE id = 't1'")
    }
    #expect(try journal.finishedTransactions().map { $0.id } == ["t2"])
  }

  @Test func `an unreadable notice is reported, and a repair removes it`() throws {
    let journal = try journal()
    let notices = (["t", "u"] as [TransactionID]).map {
      FinishNotice(transaction: $0, number: "n", payment: Payment(productIdentifier: a))
    }
    try journal.commit(notices.map { .addNotice($0) })
    try journal.write {
      try $0.execute("UPDATE finish_notice SET product = '../a' WHERE id = 't'")
    }
    let queue = try journal.readQueue()
    #expect(queue.notices == [notices[1]])
    #expect(queue.unreadable.map(\.subject) == ["the finish notice of t"])
    #expect(try journal.removeUnreadable().map(\.subject) == ["the finish notice of t"])
    #expect(try journal.readQueue().unreadable.isEmpty)
    #expect(try journal.readQueue().notices == [notices[1]])
  }
}
