import HostedConcurrency
import HostedModel
import Foundation
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("A ledger on each database", .waiting, .timeLimit(.hang))
struct LedgerTests {
  // MARK: Purchases

  @Test(arguments: LedgerBackend.available)
  func `two users of a database see each other's purchases, by account and oldest first`(
    backend: LedgerBackend
  ) throws {
    let fixture = try LedgerFixture(backend)
    let ledgers = try (0..<2).map { _ in try fixture.ledger() }
    // PostgreSQL does not store zero bytes.
    let accounts: [AccountID?] = ["ann", "Ann", "é", nil, backend == .sqlite ? "ann\0" : "bob"]
    for number in 0..<20 {
      try ledgers[number % 2].buy(.of("t\(19 - number)", account: accounts[number % 5]))
    }
    for ledger in ledgers {
      for (number, account) in accounts.enumerated() {
        #expect(try ledger.owned(account) == [19, 14, 9, 4].map { "t\($0 - number)" })
      }
      #expect(try ledger.owned("carol").isEmpty)
    }
  }

  @Test(arguments: LedgerBackend.available)
  func `changes that are made together share a commit, and each has its own result`(
    backend: LedgerBackend
  ) throws {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    let first = try #require(try ledger.buy(.of("t1", account: "bob")).purchase)
    let before = fixture.commitCount
    let drafts = try ["t1", "t2", "t3", "t2"].map { try PurchaseDraft.of($0) }
    let changes = drafts.map { LedgerChange.purchase($0) } + [.finish(transaction: "t9")]
    let results = try ledger.commit(changes, at: .sale)
    #expect(fixture.commitCount == before + 1)
    #expect(results[0] == .failure(.otherRequest(first)))
    #expect(results[4] == .failure(.unknownTransaction("t9")))
    let outcomes = try results[1...3].map { try $0.get() }
    #expect(outcomes.map(\.purchase?.transaction) == ["t2", "t3", "t2"])
    #expect(outcomes.map(\.isRepeated) == [false, false, true])
    #expect(outcomes[2].purchase == outcomes[0].purchase)
    #expect(try ledger.owned("ann") == ["t2", "t3"])
    #expect(try ledger.commit([], at: .sale).isEmpty)
  }

  @Test(arguments: LedgerBackend.available)
  func `a known transaction gets its old purchase only for the same request`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let sold = try #require(try ledger.buy(.of("t")).purchase)
    let later = Date.sale.addingTimeInterval(100)
    let again = try ledger.buy(.of("t"), at: later)
    #expect(again.isRepeated)
    #expect(again.purchase == sold)
    for draft in try [PurchaseDraft.of("t", "b"), .of("t", account: "bob"), .of("t", voucher: "v")]
    {
      #expect(throws: LedgerRefusal.otherRequest(sold)) { try ledger.buy(draft) }
    }
    #expect(try ledger.owned(account: "ann") == [sold])
    #expect(try ledger.purchase("t", requestedAs: PurchaseDraft.of("t").requestDigest) == sold)
    #expect(throws: LedgerRefusal.otherRequest(sold)) {
      try ledger.purchase("t", requestedAs: .of("another"))
    }
    #expect(try ledger.purchase("u") == nil)
    #expect(try ledger.purchase("u", requestedAs: .of("u")) == nil)
  }

  @Test(arguments: LedgerBackend.available)
  func `all values of a purchase are stored`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    var draft = try PurchaseDraft.once("t1")
    draft.reference = "pi_1"
    draft.actor = "webhook"
    let sold = try #require(try ledger.buy(draft).purchase)
    #expect(
      sold
        == PurchaseRecord(
          transaction: "t1", account: "ann", product: "a", quantity: 2, state: .purchased,
          date: .sale, contents: draft.contents, isRestorable: true, isSoldOnce: true,
          price: SoldPrice(milliunits: 1_990, currency: "EUR"), reference: "pi_1", sequence: 1,
          revision: 1))
    #expect(try ledger.purchase("t1") == sold)
    #expect(try ledger.events(after: 0, limit: 10).map(\.actor) == ["webhook"])
    try ledger.buy(.of("t2"))
    let plain = PurchaseDraft(
      transaction: "t3", account: "é", product: "b", quantity: 1, requestDigest: .of("b"),
      state: .failed(.declined("Nein – “no”")), contents: [], isRestorable: false)
    try ledger.buy(plain)
    for transaction in ["t1", "t2"] {
      try ledger.make(.finish(transaction: transaction), at: .sale)
      #expect(try ledger.purchase(transaction)?.finished == .sale)
    }
    let found = try #require(try ledger.purchase("t3"))
    #expect(found.state == plain.state)
    #expect(found.account == "é")
    #expect(found.contents.isEmpty && !found.isRestorable && found.price == nil)
    #expect(!found.isSoldOnce && found.reference == nil && found.finished == nil)
  }

  @Test(arguments: LedgerBackend.available)
  func `a change returns the dates that are stored`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let date = Date.sale.addingTimeInterval(0.000_4)
    try ledger.buy(.of("t", state: .deferred(.payment)), at: date)
    let changes: [LedgerChange] = [
      .decide(transaction: "t", .approve), .decide(transaction: "t", .refund(reason: "")),
      .finish(transaction: "t"),
    ]
    for change in changes {
      let changed = try ledger.make(change, at: date).purchase
      #expect(try ledger.purchase("t") == changed)
    }
  }

  @Test(arguments: LedgerBackend.available)
  func `a reason is stored unchanged, also if it begins with a combining mark`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let state = PurchaseState.failed(.declined("\u{301}no"))
    try ledger.buy(.of("t", state: state))
    #expect(try ledger.purchase("t")?.state == state)
  }

  @Test func `a date in a message has the milliseconds of the ledger`() throws {
    for number in 0..<1_000 {
      let date = Date(timeIntervalSince1970: 1_700_000_000 + Double(number) / 1_000)
      let digits = String(1_000 + number).dropFirst()
      #expect(MessageDate.text(date) == "2023-11-14T22:13:20.\(digits)Z")
    }
  }

  @Test(arguments: LedgerBackend.available)
  func `the first and the last purchase of a product are found`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for account: AccountID in ["ann", "bob"] {
      for (number, product) in ["b", "a", "b", "a", "b"].enumerated() {
        try ledger.buy(.of("\(account)-\(number)", product, account: account))
      }
      let b = ProductIdentifier("b")
      let originals = { try ledger.originals(account: account).map(\.transaction) }
      let original = { try ledger.original(of: b, account: account)?.transaction }
      let latest = { try ledger.latest(of: b, account: account)?.transaction }
      #expect(try originals() == ["\(account)-0", "\(account)-1"])
      #expect(try original() == "\(account)-0")
      #expect(try latest() == "\(account)-4")
      // A purchase that was taken back does not count.
      try ledger.decide("\(account)-0", .refund(reason: ""))
      try ledger.decide("\(account)-4", .revoke(reason: ""))
      #expect(try originals() == ["\(account)-1", "\(account)-2"])
      #expect(try original() == "\(account)-2")
      #expect(try latest() == "\(account)-2")
    }
    #expect(try ledger.originals(account: "carol").isEmpty)
    #expect(try ledger.latest(of: "c", account: "ann") == nil)
  }

  @Test(arguments: LedgerBackend.available)
  func `look-ups without a ledger find nothing and do not create it`(backend: LedgerBackend)
    throws
  {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    for _ in 0..<2 {
      #expect(try ledger.owned("ann").isEmpty)
      #expect(try ledger.originals(account: "ann").isEmpty)
      #expect(try ledger.events(after: 0, limit: 10).isEmpty)
      #expect(try ledger.purchase("t", requestedAs: .of("t")) == nil)
      #expect(try ledger.deferred(before: .sale, limit: 9).isEmpty)
      #expect(try ledger.ended(before: .sale, .sale, limit: 9).isEmpty)
      #expect(try ledger.keys().isEmpty)
      #expect(try ledger.head() == nil)
      #expect(try ledger.commit([], at: .sale).isEmpty)
      #expect(try fixture.isEmpty)
    }
    try ledger.buy(.of("t"))
    #expect(try ledger.owned("ann") == ["t"])
  }

  @Test(arguments: LedgerBackend.available)
  func `digests are stored as 32 bytes, whatever the bytes are`(backend: LedgerBackend) throws {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    // Zero, quotes and backslashes are among them.
    let digests = try stride(from: 0, to: 256, by: 32).map { first in
      try #require(Digest(bytes: (first..<first + 32).map { UInt8($0) }))
    }
    #expect(try ledger.addVouchers(digests, for: nil, at: .sale) == 8)
    #expect(try ledger.addVouchers(digests, for: nil, at: .sale) == 0)
    for (number, digest) in digests.enumerated() {
      let draft = PurchaseDraft(
        transaction: "t\(number)", account: "ann", product: "a", quantity: 1,
        requestDigest: digest, state: .purchased, contents: [], isRestorable: true,
        voucher: digest)
      let sold = try #require(try ledger.buy(draft).purchase)
      #expect(sold.state == .purchased)
      #expect(try ledger.buy(draft) == LedgerOutcome(sold, isRepeated: true))
      #expect(try ledger.purchase("t\(number)", requestedAs: digest) == sold)
    }
    for column in ["request_digest", "voucher_digest"] {
      #expect(try fixture.values("SELECT DISTINCT length(\(column)) FROM purchase") == ["32"])
    }
    #expect(try fixture.values("SELECT DISTINCT length(code_digest) FROM voucher") == ["32"])
  }

  // MARK: Accounts, vouchers and keys

  @Test(arguments: LedgerBackend.available)
  func `erased accounts have random names, and their purchases stay`(backend: LedgerBackend) throws
  {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    for (transaction, account): (String, AccountID?) in [
      ("t1", "ann"), ("t2", "bob"), ("t3", "ann"), ("t4", "carol"), ("t5", nil),
    ] {
      var draft = try PurchaseDraft.once(transaction, account: account)
      draft.reference = "pi_\(transaction)"
      try ledger.buy(draft)
    }
    try ledger.buy(.of("t6", "b", account: "ann", state: .deferred(.payment)))
    try ledger.buy(.of("t7", "c", account: "ann", state: .failed(.interrupted)))
    // Repeats are not counted, nor is an account that is named again.
    let outcomes = try ledger.erase(["ann", "nobody", "carol", "ann", ""])
    #expect(outcomes.map(\.sales) == [3, 0, 1, 0, 0])
    #expect(outcomes.allSatisfy { $0.purchase == nil && !$0.isRepeated })
    #expect(try ledger.erase(["ann"]).map(\.sales) == [0])
    #expect(try ledger.owned("ann").isEmpty && ledger.owned("carol").isEmpty)
    #expect(try ledger.owned("bob") == ["t2"])
    #expect(try ledger.owned(nil) == ["t5"])

    let accounts = try ["t1", "t3", "t6", "t7", "t4"].map { try ledger.purchase($0)?.account }
    #expect(Set(accounts[0...3]).count == 1 && Set(accounts).count == 2)
    #expect(!accounts.contains(nil) && !accounts.contains("ann") && !accounts.contains("carol"))
    // It is only the name of what is left.
    #expect(try ledger.owned(accounts[0]).isEmpty)
    #expect(
      try ledger.events(after: 0, limit: 10).map(\.purchase?.account)
        == [accounts[0], "bob", accounts[4], nil])
    #expect(
      try ["t1", "t2", "t4", "t5"].map { try ledger.purchase($0)?.reference }
        == [nil, "pi_t2", nil, "pi_t5"])
    // No file has the request, so the same one is refused.
    let digest = try PurchaseDraft.of("t1").requestDigest
    #expect(throws: LedgerRefusal.erased) { try ledger.buy(.once("t1")) }
    #expect(throws: LedgerRefusal.erased) { try ledger.buy(.once("t3")) }
    #expect(throws: LedgerRefusal.erased) { try ledger.purchase("t1", requestedAs: digest) }
    #expect(
      try fixture.values(
        "SELECT count(*) FROM purchase WHERE request_digest = "
          + (backend == .sqlite ? "zeroblob(32)" : "decode(repeat('00', 32), 'hex')")) == ["5"])

    // Purchases can still change, and the person can return.
    #expect(try ledger.decide("t6", .approve).purchase?.state == .purchased)
    #expect(try ledger.decide("t3", .refund(reason: "")).purchase?.state.name == "refunded")
    #expect(try ledger.purchase("t1")?.state.name == "refunded")
    let returned = try ledger.buy(.once("t8")).purchase
    #expect(returned?.original == nil && returned?.account == "ann")
    #expect(try ledger.erase(["ann"]).map(\.sales) == [1])
  }

  @Test(arguments: LedgerBackend.available)
  func `a voucher pays for one purchase, even if several ask at once`(backend: LedgerBackend)
    throws
  {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    let codes = (0..<10).map { "v\($0)" }
    #expect(try ledger.addVouchers(codes.map { .of($0) }, for: nil, at: .sale) == 10)
    #expect(try ledger.addVouchers([.of("v0"), .of("only-b")], for: "b", at: .sale) == 1)
    let ledgers = try (0..<4).map { _ in try fixture.ledger() }
    try onThreads(4) { number in
      for code in codes {
        try ledgers[number].buy(.of("\(code)-\(number)", voucher: code))
      }
    }
    for code in codes {
      let states = try (0..<4).compactMap { try ledger.purchase("\(code)-\($0)")?.state }
      #expect(states.count == 4)
      #expect(states.filter { $0 == .purchased }.count == 1)
      #expect(states.filter { $0.name == "failed" }.count == 3)
    }
    let sold = try ledger.owned("ann")
    let winner = try #require(sold.first)
    let repeated = try ledger.buy(.of(winner, voucher: String(winner.prefix(2))))
    #expect(repeated.isRepeated && repeated.purchase?.state == .purchased)
    #expect(try ledger.buy(.of("other", "a", voucher: "only-b")).purchase?.state.name == "failed")
    #expect(try ledger.buy(.of("b", "b", voucher: "only-b")).purchase?.state == .purchased)
    #expect(try ledger.buy(.of("unknown", voucher: "v99")).purchase?.state.name == "failed")
  }

  @Test(arguments: LedgerBackend.available)
  func `keys are found by name and token, and can expire and be revoked`(backend: LedgerBackend)
    throws
  {
    let ledger = try LedgerFixture(backend).ledger()
    let token = APIKey(
      kid: "key-1", account: "key-1", .token(.of("secret")), scopes: [.read, .purchase],
      created: .sale)
    let pair = APIKey(
      kid: "key-2", account: "key-1", .publicKey(pem: "-----BEGIN…\n"), scopes: [.admin],
      created: .sale.addingTimeInterval(1), notAfter: .sale.addingTimeInterval(60))
    #expect(try ledger.add(pair))
    #expect(try ledger.add(token))
    #expect(try !ledger.add(token))
    let sameToken = APIKey(
      kid: "key-3", account: "key-3", .token(.of("secret")), scopes: [], created: .sale)
    #expect(try !ledger.add(sameToken))
    #expect(try ledger.keys() == [token, pair])
    #expect(try ledger.key("key-2") == pair)
    #expect(try ledger.key(ofToken: .of("secret")) == token)
    #expect(try ledger.key(ofToken: .of("wrong")) == nil)

    let end = Date.sale.addingTimeInterval(30)
    #expect(try ledger.expireKey("key-1", at: end))
    #expect(try ledger.key("key-1")?.isUsable(at: .sale) == true)
    #expect(try ledger.key("key-1")?.isUsable(at: end) == false)
    // More milliseconds than 64 bits.
    #expect(try ledger.expireKey("key-2", at: Date(timeIntervalSince1970: 1e18)))
    #expect(try ledger.key("key-2")?.isUsable(at: .sale) == true)
    #expect(try ledger.revokeKey("key-1", at: .sale))
    #expect(try ledger.key("key-1")?.isUsable(at: .sale) == false)
    #expect(try !ledger.revokeKey("key-1", at: end))
    #expect(try !ledger.expireKey("key-1", at: end))
    #expect(try !ledger.revokeKey("key-9", at: end))
    #expect(try ledger.key("key-1")?.revoked == .sale)
  }

  // MARK: Concurrency

  @Test(arguments: LedgerBackend.available)
  func `concurrent first uses create the ledger once, and lose no purchases`(
    backend: LedgerBackend
  ) throws {
    let fixture = try LedgerFixture(backend)
    let (threads, perThread) = (8, 25)
    try onThreads(threads) { thread in
      let ledger = try fixture.ledger()
      for number in 0..<perThread {
        // Each adds its own purchase, and one that all add.
        let drafts = try [
          PurchaseDraft.of("\(thread)-\(number)"), .of("common-\(number)"),
        ]
        for result in try ledger.commit(drafts.map { .purchase($0) }, at: .sale) {
          _ = try result.get()
        }
      }
    }
    let found = try fixture.ledger().owned(account: "ann")
    #expect(found.count == (threads + 1) * perThread)
    #expect(Set(found.map(\.transaction)).count == found.count)
    #expect(Set(found.map(\.sequence)).count == found.count)
  }

  @Test(arguments: LedgerBackend.available)
  func `changes of the same rows at the same time do not fail`(backend: LedgerBackend) throws {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    let transactions = (0..<20).map { "t\($0)" }
    _ = try ledger.commit(transactions.map { .purchase(try .of($0)) }, at: .sale)
    try onThreads(4) { number in
      let ledger = try fixture.ledger()
      for transaction in number == 0 ? transactions.reversed() : transactions {
        switch number {
        case 0, 1: try ledger.decide(transaction, .refund(reason: "\(number)"))
        case 2:
          let changes: [LedgerChange] = [.erase(account: "ann"), .publish]
          for result in try ledger.commit(changes, at: .sale) { _ = try result.get() }
        default: try ledger.pruneEvents(before: .sale, now: .sale)
        }
      }
    }
    let states = try transactions.map { try ledger.purchase($0)?.state.name }
    #expect(states == Array(repeating: "refunded", count: 20))
  }
}
