import HostedModel
import HostedDatabase
import HostedFileIO
import Foundation
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Erased accounts in the files of a SQLite ledger", .waiting, .timeLimit(.hang))
struct ErasureTests {
  private static let account: AccountID = "account-of-ann"
  private static let erasure = LedgerChange.erase(account: account)

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func ledger(
    in folder: TemporaryFolder? = nil, _ fileSystem: FileSystem = .real, lockTimeout: Int = 10_000
  ) throws -> Ledger {
    let folder = try (folder ?? self.folder).opened(fileSystem)
    return Ledger(try SQLiteLedger(in: folder, lockTimeout: lockTimeout))
  }

  /// Returns a purchase whose row has a length of its own.
  private static func draft(_ name: String, _ number: Int, _ account: AccountID) throws
    -> PurchaseDraft
  {
    let contents = try (0..<number * 7 % 23).map { part in
      ContentKey(
        try ProductIdentifier(validating: "content\(part)"),
        version: try ContentVersion(validating: "1.\(number)"))
    }
    return PurchaseDraft(
      transaction: "\(name)\(number)", account: account,
      product: try ProductIdentifier(validating: "p\(number % 17)"), quantity: 1,
      requestDigest: .of("\(number)"), state: .deferred(.payment), contents: contents,
      isRestorable: true, reference: "pi_\(number)")
  }

  /// Sells to the account and to others.
  ///
  /// Most rows grow, shrink and move later.
  private func sell(_ count: Int, as name: String = "t", in ledger: Ledger) throws {
    func commit(_ changes: [LedgerChange]) throws {
      for start in stride(from: 0, to: changes.count, by: 40) {
        for result in try ledger.commit(Array(changes[start...].prefix(40)), at: .sale) {
          _ = try result.get()
        }
      }
    }
    try commit(
      try (0..<count).flatMap { number -> [LedgerChange] in
        let other = AccountID(rawValue: "other-\(number * 7_919 % 1_000)")
        return [
          .purchase(try Self.draft(name, number, Self.account)),
          .purchase(try Self.draft("other-\(name)", number, other)),
        ]
      })
    // In another order than they were sold.
    let transactions = (0..<count).map { "\(name)\($0 * 37 % count)" }
    try commit(transactions.map { .decide(transaction: $0, .approve) })
    try commit(
      transactions.enumerated().map { number, transaction in
        let reason = String(repeating: "x", count: 13 * number % 900)
        return .decide(transaction: transaction, .refund(reason: reason))
      })
    try commit(transactions.reversed().map { .finish(transaction: $0) })
    let kept = transactions.filter { !$0.hasSuffix("0") }
    try commit(kept.reversed().map { .decide(transaction: $0, .reverse) })
  }

  /// The names of the files that contain a text.
  private func files(with text: String, in folder: TemporaryFolder? = nil) throws -> [String] {
    let folder = folder ?? self.folder
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
      try Data(contentsOf: URL(filePath: folder.path(name))).range(of: Data(text.utf8)) != nil
    }.sorted()
  }

  private var namingFiles: [String] {
    get throws { try files(with: Self.account.rawValue) }
  }

  @Test func `no file contains the name of an erased account`() throws {
    let ledger = try ledger()
    for name in ["first", "second"] {
      try sell(200, as: name, in: ledger)
      #expect(try !namingFiles.isEmpty)
      #expect(try ledger.make(Self.erasure).sales == 200)
      #expect(try namingFiles == [])
    }
    #expect(try ledger.owned(Self.account).isEmpty)
    let kept = try (0..<200).compactMap { try ledger.purchase("first\($0)")?.account }
    #expect(kept.count == 200 && Set(kept).count == 1)
    ledger.close()
    #expect(try namingFiles == [])
  }

  @Test(arguments: [1, 7, 300, 1_500])
  func `no file contains the name after many moves of rows`(count: Int) throws {
    let ledger = try ledger()
    try sell(count, in: ledger)
    // An account whose only purchase was deleted can be erased, too.
    let failed = try #require(
      try ledger.buy(.of("failed", account: "gone-account", state: .failed(.declined("")))).purchase
    )
    try ledger.make(.delete(sequence: failed.sequence))
    #expect(try ledger.make(.erase(account: "gone-account")).sales == 0)
    #expect(try !namingFiles.isEmpty)
    #expect(try ledger.make(Self.erasure).sales == count)
    #expect(try namingFiles == [])
    #expect(try files(with: "gone-account") == [])
    #expect(try files(with: "other-0") != [])
  }

  /// Names in the files, such as `person-0000beef`.
  private var persons: Set<String> {
    get throws {
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      let found = try names.flatMap { name -> ArraySlice<String> in
        let bytes = try Data(contentsOf: URL(filePath: folder.path(name)))
        let text = try #require(String(data: bytes, encoding: .isoLatin1))
        return text.components(separatedBy: "person-").dropFirst()
      }
      return Set(found.map { "person-" + $0.prefix(8) })
    }
  }

  /// SQLite leaves copies of rows that it has moved in the unused parts of pages.
  @Test(arguments: [200, 3_000])
  func `no file contains a name of accounts that are erased in one commit`(count: Int) throws {
    let ledger = try ledger()
    // In no order, so that pages of names are split, and with different lengths.
    let accounts = (0..<count).map { number -> AccountID in
      let name = String(UInt32(truncatingIfNeeded: (number + 1) &* 2_654_435_761), radix: 16)
      let zeros = String(repeating: "0", count: 8 - name.count)
      return AccountID(
        rawValue: "person-\(zeros)\(name)" + String(repeating: ".", count: number * 11 % 40))
    }
    let changes = try accounts.enumerated().flatMap { number, account in
      try (0...number % 2).map { part -> LedgerChange in
        .purchase(try Self.draft("t\(part)-", number, account))
      }
    }
    for start in stride(from: 0, to: changes.count, by: 70) {
      for result in try ledger.commit(Array(changes[start...].prefix(70)), at: .sale) {
        _ = try result.get()
      }
    }
    #expect(try persons.count >= count)
    var living = accounts
    for step in [count / 100, 2, 1] {
      let erased = stride(from: 0, to: living.count, by: step).map { living[$0] }
      let outcomes = try ledger.erase(erased.shuffled() + ["unknown"])
      #expect(outcomes.dropLast().allSatisfy { $0.sales > 0 } && outcomes.last?.sales == 0)
      let gone = Set(erased)
      living.removeAll { gone.contains($0) }
      let left = try persons
      #expect(left.isDisjoint(with: erased.map { String($0.rawValue.prefix(15)) }))
      // Of the last ones not even a part is left.
      #expect(left.isEmpty == living.isEmpty)
      for account in living.prefix(20) {
        #expect(try !ledger.purchases(account: account, limit: 1, all: true).isEmpty)
      }
    }
  }

  /// Returns the files as a killed process has left them; `rest` follows the log.
  private func killed(rest: String = "") throws -> TemporaryFolder {
    let copy = try TemporaryFolder()
    for suffix in ["", "-wal"] {
      let name = SQLiteLedger.fileName + suffix
      var bytes = try Data(contentsOf: URL(filePath: folder.path(name)))
      if !suffix.isEmpty { bytes += Data(rest.utf8) }
      try bytes.write(to: URL(filePath: copy.path(name)))
    }
    return copy
  }

  @Test func `no file contains the name although an earlier process was killed`() throws {
    let running = try ledger()
    for round in 0..<3 {
      try sell(30, as: "round\(round)-", in: running)
      // A commit that was not completed has left pages with the name after the log's end.
      let rest = String(repeating: "\(Self.account) ", count: 1_000)
      let copy = try killed(rest: rest)
      #expect(try !files(with: Self.account.rawValue, in: copy).isEmpty)
      let next = try ledger(in: copy)
      #expect(try next.make(Self.erasure).sales == 30 * (round + 1))
      #expect(try files(with: Self.account.rawValue, in: copy) == [])
      #expect(try next.owned(Self.account).isEmpty)
    }
    withExtendedLifetime(running) {}
  }

  @Test func `a process that is killed within an erasure removes the name when it is repeated`()
    throws
  {
    let running = try ledger(lockTimeout: 1)
    try sell(20, in: running)
    // The reader keeps the log, as if the process was killed before it was truncated.
    let reader = try SQLiteConnection(
      path: folder.path(SQLiteLedger.fileName), .existing, of: .ledger)
    try reader.execute("BEGIN; SELECT count(*) FROM purchase")
    guard case .failure = try running.commit([Self.erasure], at: .sale)[0] else {
      Issue.record("The erasure has not failed")
      return
    }
    let copy = try killed()
    #expect(try !files(with: Self.account.rawValue, in: copy).isEmpty)
    let next = try ledger(in: copy)
    // The account has another name already.
    #expect(try next.make(Self.erasure).sales == 0)
    #expect(try files(with: Self.account.rawValue, in: copy) == [])
    #expect(try next.purchase("t1")?.state == .purchased)
    try reader.execute("ROLLBACK")
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
      let erased = try? ledger(in: nil, plan.fileSystem).make(Self.erasure)
      #expect((erased == nil) == plan.hasFired, "step \(step)")
      isDone = !plan.hasFired
      if !isDone { try ledger().make(Self.erasure) }
      #expect(try namingFiles == [], "step \(step)")
    }
    #expect(step > 10)
  }
}
