import HostedModel
import Foundation
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Purchases whose time has passed", .waiting, .timeLimit(.hang))
struct EndTests {
  private static func day(_ number: Int) -> Date {
    .sale.addingTimeInterval(86_400 * Double(number))
  }

  @Test(arguments: LedgerBackend.available)
  func `old deferred purchases are found, and nothing else`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for day in 0..<4 {
      try ledger.buy(.of("approval\(day)", state: .deferred(.approval)), at: Self.day(day))
      try ledger.buy(.of("payment\(day)", state: .deferred(.payment)), at: Self.day(day))
      try ledger.buy(.of("sold\(day)"), at: Self.day(day))
      try ledger.buy(.of("failed\(day)", state: .failed(.interrupted)), at: Self.day(day))
    }
    let found = { (day: Int, limit: Int) in
      try ledger.deferred(before: Self.day(day), limit: limit)
    }
    #expect(try found(0, 9).isEmpty)
    let names = try found(2, 9).map(\.transaction).sorted()
    #expect(names == ["approval0", "approval1", "payment0", "payment1"])
    #expect(try found(9, 3).count == 3)
    try ledger.decide("payment0", .approve)
    try ledger.decide("approval0", .decline(reason: ""))
    #expect(try found(1, 9).isEmpty)
  }

  @Test(arguments: LedgerBackend.available)
  func `declined and interrupted purchases and repeats end after their times`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    try ledger.buy(.once("sale"), at: Self.day(0))
    for day in 0..<4 {
      let date = Self.day(day)
      try ledger.buy(.of("declined\(day)", state: .failed(.declined("no"))), at: date)
      try ledger.buy(.of("interrupted\(day)", state: .failed(.interrupted)), at: date)
      try ledger.buy(.once("finished\(day)"), at: Self.day(3))
      try ledger.make(.finish(transaction: "finished\(day)"), at: date)
      try ledger.buy(.once("open\(day)"), at: date)
      // The time of the decision counts, not that of the request.
      try ledger.buy(.of("later\(day)", state: .deferred(.payment)), at: Self.day(0))
      try ledger.make(.decide(transaction: "later\(day)", .decline(reason: "")), at: date)
    }
    func ended(_ short: Int, _ long: Int, limit: Int = 99) throws -> Set<String> {
      let found = try ledger.ended(before: Self.day(short), Self.day(long), limit: limit)
      #expect(Set(found.map(\.transaction)).count == found.count && found.count <= 2 * limit)
      return Set(found.map(\.transaction))
    }
    #expect(try ended(0, 0).isEmpty)
    #expect(try ended(1, 0) == ["declined0", "later0", "finished0"])
    #expect(
      try ended(2, 1) == [
        "declined0", "declined1", "later0", "later1", "finished0", "finished1", "interrupted0",
        "open0",
      ])
    #expect(try ended(99, 99).count == 20)
    #expect(try ended(99, 99, limit: 3).count == 6)
  }

  @Test(arguments: LedgerBackend.available)
  func `a failed purchase is deleted with its events`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    try ledger.buy(.of("t1", state: .deferred(.approval)))
    let declined = try #require(
      try ledger.decide("t1", .decline(reason: ""), actor: "desk", key: "k").purchase)
    try ledger.buy(.of("t2", account: "bob", state: .failed(.interrupted)))
    try ledger.buy(.of("t3", account: nil, state: .failed(.declined("no"))))
    try ledger.buy(.of("t4", account: "carol"))
    let sequences = try ["t1", "t2", "t3"].map { try ledger.purchase($0)?.sequence ?? 0 }
    let results = try ledger.commit(sequences.map { .delete(sequence: $0) }, at: .sale)
    #expect(
      results == Array(repeating: .success(LedgerOutcome(nil, isRepeated: false)), count: 3))
    for transaction in ["t1", "t2", "t3"] { #expect(try ledger.purchase(transaction) == nil) }
    #expect(try ledger.told() == ["purchased t4"])
    // Again, and what never existed.
    for sequence in sequences + [0, 99] { try ledger.make(.delete(sequence: sequence)) }

    // The identifier and the key are free, and no number is used again.
    let again = try #require(try ledger.buy(.of("t1", "b", state: .deferred(.payment))).purchase)
    #expect(again.sequence > declined.revision && again.account == "ann")
    let change = PurchaseChange.decline(reason: "")
    #expect(try !ledger.decide("t1", change, actor: "desk", key: "k").isRepeated)
  }

  @Test(arguments: LedgerBackend.available)
  func `a deleted repeat leaves its sale, and the same request makes it again`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let sold = try #require(try ledger.buy(.once("t1")).purchase)
    for transaction in ["t2", "t3"] {
      let again = try #require(try ledger.buy(.once(transaction)).purchase)
      try ledger.make(.delete(sequence: again.sequence))
      #expect(try ledger.purchase(transaction) == nil)
      let outcome = try ledger.buy(.once(transaction))
      #expect(!outcome.isRepeated && outcome.purchase?.original?.transaction == "t1")
      try ledger.make(.delete(sequence: again.sequence))
      #expect(try ledger.purchase(transaction) == outcome.purchase)
    }
    // A repeat that was approved has an event.
    try ledger.buy(.once("asked", "b", state: .deferred(.approval)))
    try ledger.buy(.once("t4", "b"))
    let asked = try #require(try ledger.decide("asked", .approve).purchase)
    try ledger.make(.delete(sequence: asked.sequence))
    #expect(try ledger.told() == ["purchased t1", "purchased t4"])
    #expect(try ledger.purchase("t1") == sold)
    #expect(try ledger.owned("ann") == ["t1", "t4"])
  }

  @Test(arguments: LedgerBackend.available)
  func `a sale that has not failed is never deleted`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for (transaction, state): (String, PurchaseState) in [
      ("sold", .purchased), ("refunded", .purchased), ("revoked", .purchased),
      ("approval", .deferred(.approval)), ("payment", .deferred(.payment)),
    ] {
      try ledger.buy(.of(transaction, state: state))
    }
    try ledger.decide("refunded", .refund(reason: ""))
    try ledger.decide("revoked", .revoke(reason: ""))
    let events = try ledger.told()
    let all = try ledger.purchases(account: "ann", limit: 9, all: true)
    #expect(all.count == 5)
    for record in all { try ledger.make(.delete(sequence: record.sequence)) }
    #expect(try ledger.purchases(account: "ann", limit: 9, all: true) == all)
    #expect(try ledger.told() == events)
  }
}
