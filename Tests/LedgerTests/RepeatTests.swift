import HostedModel
import Foundation
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Repeats of a product that is sold once", .waiting, .timeLimit(.hang))
struct RepeatTests {
  private static let later = Date.sale.addingTimeInterval(100)

  @Test(arguments: LedgerBackend.available)
  func `a second device gets a free repeat, which no list contains`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    #expect(try ledger.addVouchers([.of("v")], for: nil, at: .sale) == 1)
    for account: AccountID? in ["ann", nil] {
      let name = account?.rawValue ?? "own"
      let sold = try #require(try ledger.buy(.once("\(name)1", account: account)).purchase)
      #expect(sold.original == nil)
      // Whatever was decided: another request may have been faster.
      let states: [PurchaseState] = [
        .purchased, .deferred(.approval), .deferred(.payment), .failed(.declined("no")),
      ]
      for (number, state) in states.enumerated() {
        var draft = try PurchaseDraft.once(
          "\(name)-repeat\(number)", account: account, state: state, voucher: "v")
        draft.reference = "pi_2"
        let outcome = try ledger.buy(draft, at: Self.later)
        let again = try #require(outcome.purchase)
        #expect(!outcome.isRepeated)
        #expect(again.original == .init(transaction: sold.transaction, date: .sale))
        #expect(again.account == account && again.state == .purchased)
        #expect(again.price == SoldPrice(milliunits: 0, currency: "EUR"))
        #expect(again.reference == nil && again.finished == nil && again.date == Self.later)
        #expect(again.sequence > sold.sequence && again.revision == again.sequence)
        #expect(try ledger.purchase(again.transaction) == again)
        #expect(try ledger.buy(draft) == LedgerOutcome(again, isRepeated: true))
        #expect(try ledger.purchase(again.transaction, requestedAs: draft.requestDigest) == again)
      }
      #expect(try ledger.owned(account: account) == [sold])
      for all in [false, true] {
        #expect(try ledger.purchases(account: account, limit: 9, all: all) == [sold])
      }
      #expect(try ledger.originals(account: account) == [sold])
      #expect(try ledger.original(of: "a", account: account) == sold)
      #expect(try ledger.latest(of: "a", account: account) == sold)
    }
    #expect(try ledger.told() == ["purchased ann1", "purchased own1"])
    #expect(try ledger.buy(.once("paid", "b", voucher: "v")).purchase?.state == .purchased)
  }

  @Test(arguments: LedgerBackend.available)
  func `another account, another product and a consumable are sold`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let drafts = try [
      PurchaseDraft.once("t1"), .once("t2", account: "bob"), .once("t3", "b"),
      .of("t4", "c"), .of("t5", "c"), .once("t6", account: nil),
    ]
    for draft in drafts { #expect(try ledger.buy(draft).purchase?.original == nil) }
    // What is not purchased is not owned.
    try ledger.buy(.once("t7", "d", state: .deferred(.payment)))
    try ledger.buy(.once("t8", "d", state: .failed(.interrupted)))
    #expect(try ledger.buy(.once("t9", "d")).purchase?.original == nil)
    #expect(try ledger.owned("ann") == ["t1", "t3", "t4", "t5", "t9"])
  }

  @Test(arguments: LedgerBackend.available)
  func `after a refund, a new sale is charged`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    try ledger.buy(.once("t1"))
    try ledger.buy(.once("t2"))
    let changes: [PurchaseChange] = [.refund(reason: "broken"), .revoke(reason: "fraud")]
    for (number, change) in changes.enumerated() {
      let (sale, next) = ("t\(2 * number + 1)", "t\(2 * number + 3)")
      try ledger.decide(sale, change)
      let sold = try #require(try ledger.buy(.once(next)).purchase)
      #expect(sold.original == nil && sold.price?.milliunits == 1_990)
      let again = try ledger.buy(.once("t\(2 * number + 4)")).purchase
      #expect(again?.original?.transaction == next)
    }
    // The old repeat belongs to the old sale. A purchase that comes back does not change others.
    #expect(try ledger.purchase("t2")?.state.name == "refunded")
    try ledger.decide("t1", .reverse)
    #expect(try ledger.purchase("t2")?.state == .purchased)
    #expect(try ledger.owned("ann") == ["t1", "t5"])
    #expect(try ledger.buy(.once("t7")).purchase?.original?.transaction == "t1")
    #expect(try ledger.purchase("t6")?.original?.transaction == "t5")
  }

  @Test(arguments: LedgerBackend.available)
  func `of two sales, the oldest is the original, and a refund of one leaves the other`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    // As before the product was sold once.
    try ledger.buy(.of("t1"))
    try ledger.buy(.of("t2"))
    #expect(try ledger.buy(.once("t3")).purchase?.original?.transaction == "t1")
    try ledger.decide("t2", .refund(reason: ""))
    #expect(try ledger.purchase("t3")?.state == .purchased)
    try ledger.decide("t2", .reverse)
    try ledger.decide("t3", .refund(reason: ""))
    #expect(try ledger.owned("ann") == ["t2"])
    #expect(try ledger.buy(.once("t4")).purchase?.original?.transaction == "t2")
  }

  @Test(arguments: LedgerBackend.available)
  func `a change by the identifier of the sale or a repeat changes all of them, with one event`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for number in 1...3 { try ledger.buy(.once("t\(number)"), at: Self.later) }
    try ledger.buy(.once("other", "b"))
    try ledger.buy(.once("other-repeat", "b"))
    let others = try ["other", "other-repeat"].map { try ledger.purchase($0) }
    let steps: [(String, PurchaseChange, String)] = [
      ("t2", .refund(reason: "broken"), "refunded"), ("t1", .reverse, "reversed"),
      ("t1", .revoke(reason: "fraud"), "revoked"), ("t3", .reverse, "reversed"),
    ]
    for (name, change, event) in steps {
      let old = try #require(try ledger.purchase(name))
      let last = try #require(try ledger.head()).last
      let outcome = try ledger.decide(name, change, actor: "desk")
      let named = try #require(outcome.purchase)
      #expect(try !outcome.isRepeated && named == ledger.purchase(name))
      #expect(named.original == old.original && named.price == old.price)
      #expect(named.date == old.date && named.state != old.state)
      let all = try (1...3).compactMap { try ledger.purchase("t\($0)") }
      #expect(all.map(\.state) == Array(repeating: named.state, count: 3))
      #expect(all.map(\.revision) == Array(repeating: last + 1, count: 3))
      let events = try ledger.events(after: last, limit: 10)
      #expect(events.map(\.kind.rawValue) == [event])
      #expect(events.map(\.purchase) == [all[0]])
      #expect(events.map(\.actor) == ["desk"])
      // The same change again, by any of the names.
      for record in all {
        let again = try ledger.decide(record.transaction, change)
        #expect(again == LedgerOutcome(record, isRepeated: true))
      }
      #expect(try ledger.purchases(account: "ann", after: last, limit: 9, all: true) == [all[0]])
    }
    #expect(try ["other", "other-repeat"].map { try ledger.purchase($0) } == others)
    let (sale, again) = (try ledger.purchase("t1"), try ledger.purchase("t2"))
    let refusals = [sale, again].compactMap { $0.map { LedgerRefusal.impossible($0) } }
    for (name, refusal) in zip(["t1", "t2"], refusals) {
      #expect(throws: refusal) { try ledger.decide(name, .decline(reason: "")) }
    }
  }

  @Test(arguments: LedgerBackend.available)
  func `each repeat is finished alone, also after a refund`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for number in 1...4 { try ledger.buy(.once("t\(number)")) }
    let finished = { try (1...4).map { try ledger.purchase("t\($0)")?.finished } }
    try ledger.make(.finish(transaction: "t2"), at: Self.later)
    #expect(try finished() == [nil, Self.later, nil, nil])
    try ledger.make(.finish(transaction: "t1"))
    try ledger.decide("t3", .refund(reason: ""))
    try ledger.make(.finish(transaction: "t4"))
    #expect(try finished() == [.sale, Self.later, nil, .sale])
    #expect(try ledger.make(.finish(transaction: "t2")).isRepeated)
    try ledger.decide("t1", .reverse)
    #expect(try finished() == [.sale, Self.later, nil, .sale])
  }

  @Test(arguments: LedgerBackend.available)
  func `of requests at once on several users of a database, one is sold`(backend: LedgerBackend)
    throws
  {
    let fixture = try LedgerFixture(backend)
    let users = try (0..<4).map { _ in try fixture.ledger() }
    let products = (0..<15).map { "p\($0)" }
    try onThreads(4) { thread in
      // In two orders, and two products in each commit.
      let order = thread % 2 == 0 ? products : products.reversed()
      for product in order {
        let results = try users[thread].commit(
          [
            .purchase(.once("\(product)-\(thread)", product)),
            .purchase(.once("common-\(thread)-\(product)", "common", account: nil)),
          ], at: .sale)
        for result in results { #expect(try result.get().purchase?.state == .purchased) }
      }
    }
    let ledger = try fixture.ledger()
    #expect(try ledger.owned(account: "ann").count == products.count)
    #expect(try ledger.owned(account: nil).count == 1)
    for product in products {
      let bought = try (0..<4).compactMap { try ledger.purchase("\(product)-\($0)") }
      let sold = bought.filter { $0.original == nil }
      #expect(bought.count == 4 && sold.count == 1)
      let originals = Set(bought.compactMap { $0.original?.transaction })
      #expect(originals == Set(sold.map(\.transaction)))
      #expect(bought.allSatisfy { $0.sequence >= sold[0].sequence })
    }
    #expect(try ledger.told().count == products.count + 1)
  }

  @Test(arguments: LedgerBackend.available)
  func `in one commit, the first request is sold and the next ones repeat it`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let results = try ledger.commit(
      [
        .purchase(.once("t1")), .purchase(.once("t2")),
        .decide(transaction: "t2", .refund(reason: "")),
        .purchase(.once("t3")), .purchase(.once("t2")),
      ], at: .sale
    ).map { try $0.get() }
    #expect(
      results.map(\.purchase?.original?.transaction) == [nil, "t1", "t1", nil, "t1"])
    #expect(results.map(\.isRepeated) == [false, false, false, false, true])
    #expect(try ledger.owned("ann") == ["t3"])
    #expect(try ledger.told() == ["purchased t1", "refunded t1", "purchased t3"])
  }

  // MARK: Imports

  @Test(arguments: LedgerBackend.available)
  func `an import keeps repeats, dates, states and finishes, and can be repeated`(
    backend: LedgerBackend
  ) throws {
    let (source, target) = (
      try LedgerFixture(.sqlite).ledger(), try LedgerFixture(backend).ledger()
    )
    for (transaction, product) in [("t1", "a"), ("t2", "a"), ("t3", "b"), ("t4", "b"), ("t5", "c")]
    {
      try source.buy(.once(transaction, product, account: nil))
    }
    // Two sales, as before the product was sold once.
    try source.buy(.of("t6", "c", account: nil))
    try source.buy(.once("t7", "c", account: nil))
    try source.decide("t4", .refund(reason: "broken"))
    for transaction in ["t2", "t3"] { try source.make(.finish(transaction: transaction)) }
    for round in 0..<2 {
      let summary = try target.addPurchases(of: source, ownAccount: "ann", at: Self.later)
      #expect(summary.conflicts == [])
      #expect(summary.imported == (round == 0 ? 7 : 0))
      #expect(summary.known == (round == 0 ? 0 : 7))
    }
    for number in 1...7 {
      var expected = try #require(try source.purchase("t\(number)"))
      let found = try #require(try target.purchase("t\(number)"))
      expected.account = "ann"
      expected.revision = found.revision
      #expect(found.sequence == Int64(number))
      #expect(found == expected)
    }
    #expect(try target.owned("ann") == ["t1", "t5", "t6"])
    #expect(try target.told() == ["purchased t1", "purchased t5", "purchased t6"])
    // A queue that repeats its request gets the imported purchase.
    let request = PurchaseRequest(
      transaction: TransactionID(rawValue: "t2"), account: "ann", productIdentifier: "a",
      quantity: 2)
    #expect(try target.purchase("t2", requestedAs: request.digest)?.original?.transaction == "t1")
    #expect(try target.buy(.once("t8")).purchase?.original?.transaction == "t1")
    #expect(try target.decide("t2", .revoke(reason: "")).purchase?.state.name == "revoked")
    #expect(try target.purchase("t1")?.state.name == "revoked")
  }

  @Test(arguments: LedgerBackend.available)
  func `an import keeps a repeat that is older than its sale`(backend: LedgerBackend) throws {
    let (source, target) = (
      try LedgerFixture(.sqlite).ledger(), try LedgerFixture(backend).ledger()
    )
    try source.buy(.once("t1", state: .deferred(.approval)))
    try source.buy(.once("t2"))
    #expect(try source.decide("t1", .approve).purchase?.original?.transaction == "t2")
    let summary = try target.addPurchases(of: source, ownAccount: "ann", at: Self.later)
    #expect(summary.conflicts == [] && summary.imported == 2)
    #expect(try target.purchase("t1")?.original?.transaction == "t2")
    #expect(try target.owned("ann") == ["t2"])
  }

  @Test(arguments: LedgerBackend.available)
  func `an imported repeat never belongs to another account's sale`(backend: LedgerBackend) throws {
    let (source, target) = (
      try LedgerFixture(.sqlite).ledger(), try LedgerFixture(backend).ledger()
    )
    try source.buy(.once("t1"))
    try source.buy(.once("t2"))
    let foreign = try target.buy(.once("t1", "b", account: "bob")).purchase
    let summary = try target.addPurchases(of: source, ownAccount: "own", at: Self.later)
    #expect(summary.conflicts == ["t1", "t2"])
    #expect(try target.purchase("t1") == foreign)
    #expect(try target.purchase("t2") == nil)
  }

  @Test(arguments: LedgerBackend.available)
  func `an imported repeat of a known repeat belongs to the sale`(backend: LedgerBackend) throws {
    let (source, target) = (
      try LedgerFixture(.sqlite).ledger(), try LedgerFixture(backend).ledger()
    )
    try source.buy(.once("t1"))
    try source.buy(.once("t2"))
    try target.buy(.once("sold"))
    try target.buy(.once("t1"))
    let summary = try target.addPurchases(of: source, ownAccount: nil, at: Self.later)
    #expect(summary.imported == 1 && summary.known == 1 && summary.conflicts == [])
    #expect(try target.purchase("t2")?.original?.transaction == "sold")
    try target.decide("sold", .refund(reason: ""))
    #expect(try target.purchase("t2")?.state.name == "refunded")
  }
}
