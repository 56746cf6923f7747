import ContentModel
import FileIO
import Foundation
import Concurrency
import TestSupport
import Testing

@testable import ContentJournal

@Suite("The grants database", .timeLimit(.minutes(10)))
struct GrantsDatabaseTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let name = GrantsDatabase.fileName
  private var path: String { folder.path(Self.name) }

  private func database(_ fileSystem: FileSystem = .real) throws -> GrantsDatabase {
    try GrantsDatabase(in: folder.opened(fileSystem))
  }

  private static func grant(_ id: String, _ product: String = "a", account: String? = nil) throws
    -> Grant
  {
    Grant(
      transactionIdentifier: id, date: Date(timeIntervalSince1970: 1.5),
      payment: Payment(
        productIdentifier: try ProductIdentifier(validating: product), quantity: 2,
        applicationUsername: account))
  }

  /// Adds one grant, which must be returned unchanged.
  private func add(_ grant: Grant, to database: GrantsDatabase) throws {
    #expect(try database.add([grant]).map { try $0.get() } == [grant])
  }

  private func identifiers(_ database: GrantsDatabase, account: String? = nil) throws -> [String] {
    try database.grants(account: account).map(\.transactionIdentifier)
  }

  // MARK: Grants

  @Test func `two users of a file see each other's grants, by account and oldest first`() throws {
    let databases = try (0..<2).map { _ in try database() }
    let accounts = [nil, "ann", "", "ann\0", "é"]
    for number in 0..<20 {
      try add(
        Self.grant("t\(19 - number)", account: accounts[number % 5]), to: databases[number % 2])
    }
    for database in databases {
      for (number, account) in accounts.enumerated() {
        let expected = [19, 14, 9, 4].map { "t\($0 - number)" }
        #expect(try identifiers(database, account: account) == expected)
      }
      #expect(try identifiers(database, account: "bob").isEmpty)
    }
  }

  @Test func `grants that are added together share a commit, and each is returned once`() throws {
    try add(Self.grant("t1", account: "ann"), to: database())
    let commits = Mutex(0)
    let database = try database(FileSystem(didCommit: { _ in commits.withLock { $0 += 1 } }))
    let asked = try ["t1", "t2", "t3", "t2"].map { try Self.grant($0) }
    let given = try database.add(asked)
    #expect(commits.withLock { $0 } == 1)
    #expect(try given.dropFirst().map { try $0.get() } == Array(asked.dropFirst()))
    let error = #expect(throws: ContentError.self) { try given[0].get() }
    #expect(error?.code == .transactionExists)
    #expect(error?.message.contains("ann") == false)
    #expect(try identifiers(database) == ["t2", "t3"])
  }

  @Test func `a known transaction gets its old grant only for the same payment`() throws {
    let database = try database()
    try add(Self.grant("t"), to: database)
    var again = try Self.grant("t")
    again = Grant(
      transactionIdentifier: "t", date: Date(timeIntervalSince1970: 7), payment: again.payment)
    #expect(try database.add([again])[0].get() == Self.grant("t"))
    var payments = try [Self.grant("t", "b").payment, Self.grant("t", account: "").payment]
    payments.append(Payment(productIdentifier: ProductIdentifier("a"), quantity: 1))
    for payment in payments {
      let other = Grant(
        transactionIdentifier: "t", date: Date(timeIntervalSince1970: 1.5), payment: payment)
      let error = #expect(throws: ContentError.self) { try database.add([other])[0].get() }
      #expect(error?.code == .transactionExists)
    }
    #expect(try database.grants(account: nil) == [Self.grant("t")])
  }

  @Test func `the first and the last grant of a product are found`() throws {
    let database = try database()
    let products = ["b", "a", "b", "a", "b"]
    for account in [nil, "ann"] {
      for (number, product) in products.enumerated() {
        try add(
          Self.grant("\(account ?? "own")-\(number)", product, account: account), to: database)
      }
    }
    for account in [nil, "ann"] {
      let name = account ?? "own"
      let originals = try database.originalGrants(account: account)
      #expect(originals.map(\.transactionIdentifier) == ["\(name)-0", "\(name)-1"])
      let b = ProductIdentifier("b")
      #expect(
        try database.originalGrant(of: b, account: account)?.transactionIdentifier == "\(name)-0")
      #expect(
        try database.latestGrant(of: b, account: account)?.transactionIdentifier == "\(name)-4")
    }
    #expect(try database.originalGrants(account: "bob").isEmpty)
    #expect(try database.latestGrant(of: ProductIdentifier("c"), account: nil) == nil)
  }

  @Test func `a look-up without a file finds nothing and does not create it`() throws {
    let database = try database()
    #expect(try database.grants(account: nil).isEmpty)
    #expect(try database.originalGrants(account: nil).isEmpty)
    #expect(try database.add([]).isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test func `each look-up uses an index and reads only matching rows`() throws {
    try add(Self.grant("t"), to: database())
    let connection = try SQLiteConnection(path: path, .existing)
    for (sql, count) in GrantQuery.lookUps {
      var plan: [String] = []
      let values = Array(repeating: SQLiteConnection.Value.text("a"), count: count)
      try connection.query("EXPLAIN QUERY PLAN " + sql, values) { plan.append($0.text(3)) }
      let steps = plan.filter { $0.contains("account_grant") || $0.contains("first") }
      #expect(!steps.isEmpty)
      for step in steps {
        #expect(step.hasPrefix("SEARCH") && step.contains("USING"), "\(sql): \(plan)")
      }
      // Only the keys of the originals are sorted.
      #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(sql): \(plan)")
    }
  }

  // MARK: Concurrency

  @Test func `concurrent first uses create the file once, and lose no grants`() throws {
    let threads = 8
    let perThread = 25
    let errors = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      do {
        let database = try database()
        for number in 0..<perThread {
          // Each adds its own grant, and one that all add.
          let grants = try [Self.grant("\(thread)-\(number)"), Self.grant("common-\(number)")]
          for result in try database.add(grants) { _ = try result.get() }
        }
      } catch {
        errors.withLock { $0.append("\(error)") }
      }
    }
    #expect(errors.withLock { $0 } == [])
    let found = try identifiers(database())
    #expect(found.count == (threads + 1) * perThread)
    #expect(Set(found).count == found.count)
  }

  @Test func `a database that another connection has locked is a retryable error`()
    throws
  {
    let database = try GrantsDatabase(in: folder.opened(), lockTimeout: 1)
    try add(Self.grant("t1"), to: database)
    let other = try SQLiteConnection(path: path, .existing)
    try other.execute("BEGIN IMMEDIATE")
    let error = #expect(throws: ContentError.self) { try database.add([Self.grant("t2")]) }
    #expect(error?.code == .grantsFailed)
    #expect(error?.isRetryable == true)
    // Look-ups do not wait for a writer.
    #expect(try identifiers(database) == ["t1"])
    try other.execute("ROLLBACK")
    try add(Self.grant("t2"), to: database)
    #expect(try identifiers(database) == ["t1", "t2"])
  }

  // MARK: Damaged and unusual files

  @Test func `only the owner can read the files of the database`() throws {
    let database = try database()
    try add(Self.grant("t"), to: database)
    for suffix in ["", "-wal", "-shm"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(suffix)")
    }
    withExtendedLifetime(database) {}
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

  @Test func `a truncated log loses only grants of incomplete commits`() throws {
    let database = try database()
    let log = { try Data(contentsOf: URL(filePath: path + "-wal")).count }
    var ends: [Int] = []
    for number in 0..<3 {
      try add(Self.grant("t\(number)"), to: database)
      ends.append(try log())
    }
    for length in stride(from: ends[0], through: ends[2], by: 300) + [ends[1] - 1, ends[1]] {
      let copy = try copy(cuttingLogTo: length)
      let expected = (0..<3).filter { ends[$0] <= length }.map { "t\($0)" }
      let found = try GrantsDatabase(in: copy.opened())
      #expect(try identifiers(found) == expected, "\(length) of \(ends)")
      try add(Self.grant("next"), to: found)
      #expect(try identifiers(found) == expected + ["next"])
    }
  }

  @Test func `a damaged or truncated database is an error and is not replaced`() throws {
    do {
      let database = try database()
      for start in stride(from: 0, to: 2_000, by: 500) {
        _ = try database.add((start..<start + 500).map { try Self.grant("transaction-\($0)") })
      }
    }
    let whole = try Data(contentsOf: URL(filePath: path))
    var damaged = whole
    damaged.replaceSubrange(0..<100, with: Data(repeating: 7, count: 100))
    for bytes in [whole.prefix(whole.count / 2), damaged] {
      try bytes.write(to: URL(filePath: path))
      let database = try database()
      let looked = #expect(throws: ContentError.self) { try database.grants(account: nil) }
      #expect(looked?.code == .grantsFailed)
      let added = #expect(throws: ContentError.self) { try database.add([Self.grant("t")]) }
      #expect(added?.code == .grantsFailed)
      #expect(added?.remedy.contains("Keep a copy") == true, "\(String(describing: added))")
      #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
      // A restored file is used without a restart.
      try whole.write(to: URL(filePath: path))
      #expect(try identifiers(database).count == 2_000)
    }
  }

  @Test func `a database of another program or newer version is refused unchanged`() throws {
    for statement in [
      "CREATE TABLE t (a)", "PRAGMA user_version = 3", "PRAGMA application_id = 9",
      "PRAGMA application_id = \(GrantsSchema.applicationIdentifier); PRAGMA user_version = 2",
    ] {
      let folder = try TemporaryFolder()
      let path = folder.path(Self.name)
      do { try SQLiteConnection(path: path, .write).execute(statement) }
      let before = try Data(contentsOf: URL(filePath: path))
      let database = try GrantsDatabase(in: folder.opened())
      for _ in 0..<2 {
        let added = #expect(throws: ContentError.self) { try database.add([Self.grant("t")]) }
        #expect(added?.code == .grantsFailed, "\(statement)")
        let looked = #expect(throws: ContentError.self) { try database.grants(account: nil) }
        #expect(looked?.code == .grantsFailed, "\(statement)")
      }
      #expect(try Data(contentsOf: URL(filePath: path)) == before, "\(statement)")
    }
  }

  @Test func `an empty file is a database without grants`() throws {
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let database = try database()
    #expect(try database.grants(account: nil).isEmpty)
    #expect(try Data(contentsOf: URL(filePath: path)).isEmpty)
    try add(Self.grant("t"), to: database)
    #expect(try identifiers(database) == ["t"])
  }

  @Test func `a replaced or removed file takes effect at once`() throws {
    let database = try database()
    try add(Self.grant("t1"), to: database)
    let other = try TemporaryFolder()
    do { try add(Self.grant("t2"), to: GrantsDatabase(in: other.opened())) }
    for suffix in ["", "-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: path + suffix)
    }
    #expect(try database.grants(account: nil).isEmpty)
    try FileManager.default.moveItem(atPath: other.path(Self.name), toPath: path)
    try add(Self.grant("t3"), to: database)
    #expect(try identifiers(database) == ["t2", "t3"])
  }

  @Test(.enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
  func `a read-only file can be read, and refuses new grants`() throws {
    do { try add(Self.grant("t1"), to: database()) }
    for item in [folder.path, path] {
      try FileManager.default.setAttributes(
        [
          .ownerAccountID: OtherUser.number, .posixPermissions: item == path ? 0o400 : 0o700,
        ], ofItemAtPath: item)
    }
    let before = try Data(contentsOf: URL(filePath: path))
    let folder = folder
    let (found, error) = try OtherUser.perform {
      let database = try GrantsDatabase(in: folder.opened())
      let error = #expect(throws: ContentError.self) { try database.add([Self.grant("t2")]) }
      return (try database.grants(account: nil), error)
    }
    #expect(try found == [Self.grant("t1")])
    #expect(error?.code == .notPermitted, "\(String(describing: error))")
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
  }

  @Test(arguments: [[], ["t1"]])
  func `if any step fails, a retry creates the grant once`(before: [String]) throws {
    var isDone = false
    var step = 0
    while !isDone {
      step += 1
      let folder = try TemporaryFolder()
      let grants = try before.map { try Self.grant($0) }
      _ = try GrantsDatabase(in: folder.opened()).add(grants)
      let plan = FaultPlan(failing: step)
      let failing = try? GrantsDatabase(in: folder.opened(plan.fileSystem))
      let granted = try? failing?.add([Self.grant("t2")])
      #expect((granted == nil) == plan.hasFired, "step \(step)")
      isDone = !plan.hasFired
      if !isDone {
        _ = try (failing ?? GrantsDatabase(in: folder.opened())).add([Self.grant("t2")])
      }
      #expect(try identifiers(GrantsDatabase(in: folder.opened())) == before + ["t2"])
    }
    #expect(step > 5)
  }
}
