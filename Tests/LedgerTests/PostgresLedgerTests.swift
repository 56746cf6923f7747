import HostedConcurrency
import HostedModel
import Foundation
import HostedPostgresLedger
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite(
  "A ledger in PostgreSQL",
  .enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.reason)), .waiting,
  .timeLimit(.hang))
struct PostgresLedgerTests {
  /// Returns a user of a database, which keeps the database.
  private static func postgres(
    _ database: PostgresDatabase, user: String = PostgresServer.owner,
    willRun: PostgresLedger.Step? = nil
  ) throws -> PostgresLedger {
    try PostgresLedger(url: database.server.url(database.name, user: user)) { sql in
      try willRun?(sql)
      withExtendedLifetime(database) {}
    }
  }

  private static func ledger(_ database: PostgresDatabase, willRun: PostgresLedger.Step? = nil)
    throws -> Ledger
  {
    Ledger(try postgres(database, willRun: willRun))
  }

  /// Returns what `sql` returns within a transaction of the ledger.
  private func value(_ sql: String, in database: PostgresLedger) throws -> String {
    try database.write { connection in
      var value = ""
      try connection.query(sql, []) { value = $0.text(0) }
      return value
    }
  }

  // MARK: Interruptions

  @Test(.slow, arguments: [false, true])
  func `a connection that is lost before any statement changes all or nothing`(isOpen: Bool) throws
  {
    var step = 0
    var isDone = false
    while !isDone {
      step += 1
      let database = try PostgresServer.shared().database()
      let inspector = try Self.ledger(database)
      let countdown = Mutex(0)
      let ledger = try Self.ledger(database) { _ in
        let isNow = countdown.withLock { count in
          count -= 1
          return count == 0
        }
        if isNow { try database.endConnections() }
      }
      if isOpen { try ledger.buy(.of("t1")) }
      countdown.withLock { $0 = step }
      let result = Result { try ledger.buy(.of("t2")) }
      isDone = countdown.withLock { $0 > 0 }
      switch result {
      case .success(let outcome):
        // An idle connection that was lost is replaced.
        #expect(isDone || isOpen && step == 1, "step \(step)")
        #expect(try inspector.purchase("t2") == outcome.purchase)
      case .failure(let error):
        #expect(!isDone)
        let error = try #require(error as? ContentError)
        #expect(error.code == .ledgerFailed && error.isRetryable, "\(error)")
        #expect(try inspector.purchase("t2") == nil)
      }
      // The next call connects again.
      #expect(try ledger.buy(.of("t2")).purchase?.transaction == "t2")
      let expected = isOpen ? ["t1", "t2"] : ["t2"]
      #expect(try inspector.owned("ann") == expected, "step \(step)")
      let events = try inspector.events(after: 0, limit: 10)
      #expect(events.map(\.purchase?.transaction) == expected)
    }
    #expect(step > 5)
  }

  @Test(.slow) func `a server that crashes during writes loses and repeats no recorded purchase`()
    throws
  {
    let server = try PostgresServer()
    let database = try server.database()
    let recorded = Watched<[String: PurchaseRecord]>([:])
    let isEnough = Mutex(false)
    let writing = Background {
      try onThreads(4) { thread in
        let ledger = try Self.ledger(database)
        var number = 0
        while !isEnough.withLock({ $0 }) {
          let drafts = try (0..<3).map { try PurchaseDraft.of("\(thread)-\(number)-\($0)") }
          var outcomes: [LedgerOutcome]?
          blockUntil {
            outcomes = try? ledger.commit(drafts.map { .purchase($0) }, at: .sale)
              .map { try $0.get() }
            return outcomes != nil
          }
          for purchase in (outcomes ?? []).compactMap(\.purchase) {
            recorded.change { $0[purchase.transaction] = purchase }
          }
          number += 1
        }
      }
    }
    for round in 1...4 {
      recorded.block { $0.count >= 60 * round }
      server.stop(SIGQUIT)
      try server.start()
    }
    isEnough.withLock { $0 = true }
    try writing.check()
    let ledger = try Self.ledger(database)
    let owned = try ledger.owned(account: "ann")
    #expect(owned.count == recorded.value.count)
    #expect(owned.allSatisfy { recorded.value[$0.transaction] == $0 })
    let events = try ledger.events(after: 0, limit: 100_000)
    #expect(events.map(\.sequence) == owned.map(\.sequence))
  }

  @Test(.slow) func `a server that does not run is a retryable error, until it starts`() throws {
    let server = try PostgresServer()
    let database = try server.database()
    let ledger = try Self.ledger(database)
    try ledger.buy(.of("t1"))
    #expect(try ledger.owned("ann") == ["t1"])
    server.stop(SIGINT)
    for _ in 0..<2 {
      let bought = #expect(throws: ContentError.self) { try ledger.buy(.of("t2")) }
      #expect(bought?.code == .ledgerFailed && bought?.isRetryable == true)
      #expect(bought?.message.contains("Cannot reach") == true, "\(String(describing: bought))")
      let looked = #expect(throws: ContentError.self) { try ledger.owned("ann") }
      #expect(looked?.code == .ledgerFailed)
    }
    try server.start()
    #expect(try ledger.owned("ann") == ["t1"])
    try ledger.buy(.of("t2"))
    // After a restart, idle connections are replaced without an error.
    server.stop(SIGINT)
    try server.start()
    #expect(try ledger.owned("ann") == ["t1", "t2"])
    try ledger.buy(.of("t3"))
    #expect(try ledger.owned("ann") == ["t1", "t2", "t3"])
  }

  @Test func `a transaction that conflicts with another one is repeated`() throws {
    let database = try PostgresServer.shared().database()
    let ledger = try Self.postgres(database)
    for (failures, state) in [(3, "40001"), (4, "40P01"), (1, "22012")] {
      let runs = Mutex(0)
      let result = Result {
        try ledger.write { connection in
          let run = runs.withLock { count in
            count += 1
            return count
          }
          try connection.run(LedgerStatements.numbers, [.integer(1)])
          guard run > failures else {
            return try connection.run("DO $$BEGIN RAISE 'x' USING ERRCODE = '\(state)'; END$$")
          }
        }
      }
      let isRepeated = state != "22012"
      #expect(runs.withLock { $0 } == (isRepeated ? 4 : 1))
      #expect((try? result.get()) != nil ? failures == 3 : failures != 3)
    }
    // Only the successful run has taken a number.
    #expect(try Ledger(ledger).head()?.last == 1)
  }

  /// Returns a user of `database` that calls `body` once, before it locks the counter.
  private static func ledger(
    _ database: PostgresDatabase, beforeLock body: @escaping @Sendable () throws -> Void
  ) throws -> Ledger {
    let isCalled = Mutex(false)
    let step: PostgresLedger.Step = { sql in
      guard sql == LedgerStatements.numbers else { return }
      let isFirst = isCalled.withLock { isCalled in
        defer { isCalled = true }
        return !isCalled
      }
      if isFirst { try body() }
    }
    return try ledger(database, willRun: step)
  }

  @Test func `of two servers with one transaction, the second gets the first one's result`() throws
  {
    let database = try PostgresServer.shared().database()
    let first = try Self.ledger(database)
    #expect(try first.addVouchers([.of("v1"), .of("v2")], for: nil, at: .sale) == 2)
    let other = try Self.ledger(
      database, beforeLock: { _ = try first.buy(.of("t", voucher: "v1")) })
    let error = #expect(throws: LedgerRefusal.self) { try other.buy(.of("t", voucher: "v2")) }
    let sold = try #require(try first.purchase("t"))
    #expect(error == .otherRequest(sold))
    // The refused request has not used its voucher.
    #expect(try first.buy(.of("u", voucher: "v2")).purchase?.state == .purchased)

    let equal = try Self.ledger(database, beforeLock: { _ = try first.buy(.of("w")) })
    let again = try equal.buy(.of("w"))
    #expect(try again == LedgerOutcome(first.purchase("w"), isRepeated: true))
    let late = Date.sale.addingTimeInterval(9)
    let finishing = try Self.ledger(
      database, beforeLock: { _ = try first.make(.finish(transaction: "w")) })
    let finished = try finishing.make(.finish(transaction: "w"), at: late)
    #expect(finished.isRepeated && finished.purchase?.finished == .sale)
  }

  @Test func `of two servers that sell a product once, the second records a repeat`() throws {
    let database = try PostgresServer.shared().database()
    let first = try Self.ledger(database)
    #expect(try first.addVouchers([.of("v")], for: nil, at: .sale) == 1)
    let other = try Self.ledger(database, beforeLock: { _ = try first.buy(.once("t1")) })
    let second = try #require(try other.buy(.once("t2", voucher: "v")).purchase)
    #expect(second.original?.transaction == "t1")
    #expect(try first.told() == ["purchased t1"])
    // An approval finds the sale of another server, too.
    try first.buy(.once("t3", "b", state: .deferred(.approval), voucher: "v"))
    let approving = try Self.ledger(database, beforeLock: { _ = try first.buy(.once("t4", "b")) })
    let sale = PurchaseChange.decide(SaleDecision(.purchased))
    #expect(try approving.decide("t3", sale).purchase?.original?.transaction == "t4")
    #expect(try first.buy(.of("t5", voucher: "v")).purchase?.state == .purchased)
  }

  // MARK: Settings

  @Test func `commits are synchronous and read committed, whatever the defaults are`() throws {
    let database = try PostgresServer.shared().database()
    for (name, value) in [
      ("synchronous_commit", "off"), ("default_transaction_isolation", "serializable"),
      ("client_encoding", "latin1"),
    ] {
      try database.run("ALTER DATABASE \(database.name) SET \(name) = '\(value)'")
    }
    let ledger = try Self.postgres(database)
    #expect(try value("SHOW synchronous_commit", in: ledger) == "on")
    #expect(try value("SHOW transaction_isolation", in: ledger) == "read committed")
    #expect(try value("SELECT 'é→'", in: ledger) == "é→")
  }

  @Test func `text with a zero byte is refused`() throws {
    let ledger = try Self.ledger(PostgresServer.shared().database())
    let error = #expect(throws: ContentError.self) { try ledger.buy(.of("t", account: "a\0")) }
    #expect(error?.code == .usage)
    #expect(try ledger.purchase("t") == nil)
    try ledger.buy(.of("t"))
  }

  // MARK: Schema

  @Test func `a ledger of another version and a foreign table are refused unchanged`() throws {
    let database = try PostgresServer.shared().database()
    try database.run("CREATE TABLE theirs (a int)")
    try Self.ledger(database).buy(.of("t"))
    try database.run("UPDATE ledger SET origin = 'another'")
    for version in [1, 3, 0] {
      try database.run("UPDATE ledger_schema SET version = \(version)")
      let other = try Self.ledger(database)
      for _ in 0..<2 {
        let bought = #expect(throws: ContentError.self) { try other.buy(.of("u")) }
        #expect(bought?.message.contains("has schema \(version); this version reads 2") == true)
        #expect(throws: ContentError.self) { try other.owned("ann") }
      }
    }
    #expect(try database.run("SELECT origin, next_sequence FROM ledger") == "another|2")

    let foreign = try PostgresServer.shared().database()
    try foreign.run("CREATE TABLE event (a int)")
    let error = #expect(throws: ContentError.self) { try Self.ledger(foreign).buy(.of("t")) }
    #expect(error?.code == .ledgerFailed)
    #expect(error?.cause?.contains("42P07") == true, "\(String(describing: error))")
    let tables = try foreign.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    #expect(tables == "event")
  }

  @Test func `a role without privileges is an error that is not retryable`() throws {
    let database = try PostgresServer.shared().database()
    try database.run("ALTER SCHEMA public OWNER TO admin")
    let error = #expect(throws: ContentError.self) { try Self.ledger(database).buy(.of("t")) }
    #expect(error?.code == .notPermitted, "\(String(describing: error))")
  }

  @Test func `a restored copy has a new incarnation, and a restart keeps it`() throws {
    let server = try PostgresServer.shared()
    let database = try server.database()
    let original = try Self.ledger(database)
    try original.buy(.of("t1"))
    let position = try #require(try original.head()).position
    original.close()
    // Without other connections.
    try database.endConnections()
    let copy = try server.database(copying: database.name)
    try original.buy(.of("t2"))
    #expect(try original.head()?.has(position) == true)
    #expect(try Self.ledger(database).head()?.has(position) == true)

    let restored = try Self.ledger(copy)
    #expect(try restored.head()?.has(position) == false)
    #expect(try restored.owned("ann") == ["t1"])
    #expect(try restored.buy(.of("t2")).isRepeated == false)
    #expect(try Self.ledger(copy).head()?.incarnation == restored.head()?.incarnation)
    // An operator can say so after the disk was replaced by a snapshot.
    let old = try restored.head()?.incarnation
    try copy.run("UPDATE ledger SET origin = 'restored'")
    #expect(try Self.ledger(copy).head()?.incarnation != old)
  }

  // MARK: Secrets

  @Test func `no error contains the password`() throws {
    let server = try PostgresServer.shared()
    let database = try server.database()
    let wrong = Ledger(try Self.postgres(database, user: "guarded:wrongsecret"))
    let error = #expect(throws: ContentError.self) { try wrong.buy(.of("t")) }
    #expect(error?.description.contains("password authentication failed") == true)
    #expect(error?.description.contains("wrongsecret") == false)
    try database.run("GRANT CREATE ON SCHEMA public TO guarded")
    try Ledger(Self.postgres(database, user: "guarded:rightsecret")).buy(.of("t"))

    for password in ["my@secret", "my/secret", "%zz-secret", "secret@[", "x/secret@y"] {
      for rest in ["127.0.0.1:1/db", "127.0.0.1:1x/db", "[::1/db", "127.0.0.1/db?secret=1"] {
        let error = #expect(throws: ContentError.self) {
          try Ledger(PostgresLedger(url: "postgresql://user:\(password)@\(rest)")).owned("ann")
        }
        #expect(error?.description.contains("secret") == false, "\(password) \(rest)")
      }
    }
    for url in ["", "postgresql:", "mysql://host/db", "host=localhost password=secret"] {
      let error = #expect(throws: ContentError.self) { try PostgresLedger(url: url) }
      #expect(error?.code == .usage)
      #expect(error?.description.contains("secret") == false)
    }
  }
}
