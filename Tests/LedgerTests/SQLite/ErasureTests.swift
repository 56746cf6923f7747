import HostedModel
import HostedDatabase
import HostedFileIO
import Foundation
import HostedLedger
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Erased accounts in the files of a SQLite ledger", .waiting, .timeLimit(.hang))
struct ErasureTests {
  private static let account: AccountID = "account-of-ann"
  private static let erasure = LedgerChange.erase(account: account, replacement: "erased")

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func ledger(_ fileSystem: FileSystem = .real, lockTimeout: Int = 10_000) throws -> Ledger
  {
    let database = try SQLiteLedger(in: folder.opened(fileSystem), lockTimeout: lockTimeout)
    return Ledger(database) { purchase, _ in
      // Of different lengths, so that rows move between pages.
      let length = 50 + 7 * (purchase.transaction.utf8.count + Int(purchase.sequence) % 90)
      return "\(purchase.account ?? "")/\(String(repeating: "x", count: length))"
    }
  }

  /// Sells to the account and to others, and refunds some purchases.
  private func sell(_ count: Int, as name: String = "t", in ledger: Ledger) throws {
    for start in stride(from: 0, to: count, by: 20) {
      let changes = try (start..<start + 20).flatMap { number -> [LedgerChange] in
        let other: AccountID = "other-\(number * 7_919 % 1_000)"
        return [
          .purchase(try .of("\(name)\(number)", "p\(number % 17)", account: Self.account)),
          .purchase(try .of("other-\(name)\(number)", "p\(number % 13)", account: other)),
        ]
      }
      for result in try ledger.commit(changes, at: .sale) { _ = try result.get() }
      try ledger.decide("\(name)\(start)", .refund(reason: "broken"))
    }
  }

  /// The names of the files that contain the account.
  private var namingFiles: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
        try Data(contentsOf: URL(filePath: folder.path(name)))
          .range(of: Data(Self.account.rawValue.utf8)) != nil
      }.sorted()
    }
  }

  @Test func `no file contains the name of an erased account`() throws {
    let ledger = try ledger()
    for name in ["first", "second"] {
      try sell(200, as: name, in: ledger)
      #expect(try !namingFiles.isEmpty)
      try ledger.make(Self.erasure)
      #expect(try namingFiles == [])
    }
    let erased = try ledger.purchases(account: "erased", limit: 1_000, all: true)
    #expect(erased.count == 400)
  }

  /// An approval adds the receipt, so that SQLite moves rows to other pages of the table.
  @Test func `no file contains the name if purchases were approved later`() throws {
    let ledger = try ledger()
    let drafts = try (0..<800).map { number in
      try PurchaseDraft.of(
        "t\(number)", "p\(number % 17)", account: Self.account, state: .deferred)
    }
    let approvals = (0..<800).map { number in
      LedgerChange.decide(transaction: "t\(number * 37 % 800)", .approve)
    }
    for changes in [drafts.map { LedgerChange.purchase($0) }, approvals] {
      for result in try ledger.commit(changes, at: .sale) { _ = try result.get() }
    }
    #expect(try !namingFiles.isEmpty)
    try ledger.make(Self.erasure)
    #expect(try namingFiles == [])
    #expect(try ledger.owned("erased").count == 800)
  }

  @Test func `while another connection reads an older state, an erasure fails alone`() throws {
    let ledger = try ledger(lockTimeout: 1)
    try sell(20, in: ledger)
    let path = folder.path(SQLiteLedger.fileName)
    let reader = try SQLiteConnection(path: path, .existing, of: .ledger)
    try reader.execute("BEGIN; SELECT count(*) FROM purchase")
    let results = try ledger.commit(
      [Self.erasure, .purchase(try .of("new", account: "bob"))], at: .sale)
    guard case .failure(.failed(let error)) = results[0] else {
      Issue.record("The erasure has not failed")
      return
    }
    #expect(error.code == .ledgerFailed && error.isRetryable)
    #expect(try results[1].get().isRepeated == false)
    #expect(try ledger.owned(Self.account).isEmpty)
    try reader.execute("ROLLBACK")
    try ledger.make(Self.erasure)
    #expect(try namingFiles == [])
  }

  @Test func `if any step of an erasure fails, its repetition removes the name`() throws {
    try sell(20, in: ledger())
    var step = 0
    var isDone = false
    while !isDone {
      step += 1
      try ledger().buy(.of("again\(step)", account: Self.account))
      let plan = FaultPlan(failing: step)
      let erased = try? ledger(plan.fileSystem).make(Self.erasure)
      #expect((erased == nil) == plan.hasFired, "step \(step)")
      isDone = !plan.hasFired
      if !isDone { try ledger().make(Self.erasure) }
      #expect(try namingFiles == [], "step \(step)")
    }
    #expect(step > 10)
  }
}
