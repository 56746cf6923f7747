import HostedModel
import Foundation
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Approvals, and changes with a key", .waiting, .timeLimit(.hang))
struct ApprovalTests {
  private static let later = Date.sale.addingTimeInterval(100)
  private static let sale = PurchaseChange.decide(SaleDecision(.purchased))

  private static func payingByVoucher() -> PurchaseChange {
    var decision = SaleDecision(.purchased)
    decision.usesVoucher = true
    return .decide(decision)
  }

  // MARK: Decisions

  @Test(arguments: LedgerBackend.available)
  func `a purchase that waits for approval becomes what the deciders say`(backend: LedgerBackend)
    throws
  {
    let ledger = try LedgerFixture(backend).ledger()
    let states: [PurchaseState] = [
      .purchased, .deferred(.payment), .failed(.declined("empty")), .failed(.interrupted),
    ]
    for (number, state) in states.enumerated() {
      let name = "t\(number)"
      let old = try #require(
        try ledger.buy(.once(name, "p\(number)", state: .deferred(.approval))).purchase)
      let last = try #require(try ledger.head()).last
      #expect(throws: LedgerRefusal.needsDecision(old, hasVoucher: false)) {
        try ledger.decide(name, .approve, actor: "desk", key: "unused")
      }
      #expect(try ledger.purchase(name) == old)
      var decision = SaleDecision(state)
      decision.price = SoldPrice(milliunits: 5, currency: "USD")
      decision.reference = "pi_1"
      let outcome = try ledger.make(
        .decide(transaction: name, .decide(decision), actor: "webhook"), at: Self.later)
      let decided = try #require(outcome.purchase)
      #expect(try !outcome.isRepeated && decided == ledger.purchase(name))
      #expect(decided.state == state && decided.original == nil)
      #expect(decided.price == decision.price && decided.reference == "pi_1")
      #expect(decided.date == (state == .purchased ? Self.later : .sale))
      let events = try ledger.events(after: last, limit: 9)
      #expect(events.map(\.kind) == [.decided])
      #expect(events.map(\.actor) == ["webhook"])
      #expect(events.map(\.purchase) == [decided])
      // The deciders' answer is for one approval.
      #expect(throws: LedgerRefusal.impossible(decided)) { try ledger.decide(name, Self.sale) }
    }
    // A decider that said `later` is not asked again.
    #expect(try ledger.decide("t1", .approve).purchase?.state == .purchased)
    #expect(try ledger.decide("t3", .approve).purchase?.state == .purchased)
    #expect(try ledger.told().suffix(2) == ["decided t1", "decidedAfterInterruption t3"])
    #expect(try ledger.purchase("t1")?.price?.currency == "USD")
  }

  @Test(arguments: LedgerBackend.available)
  func `a declined purchase says so in its event, whatever it has waited for`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for wait in PurchaseState.Wait.allCases {
      let name = wait.rawValue
      try ledger.buy(.of(name, state: .deferred(wait)))
      let declined = try ledger.decide(name, .decline(reason: "no")).purchase
      #expect(declined?.state == .failed(.declined("no")))
      #expect(try ledger.decide(name, .decline(reason: "no")).isRepeated)
    }
    #expect(try ledger.told() == ["declined approval", "declined payment"])
    #expect(LedgerEvent.Kind.declined.nameInMessages == "decided")
  }

  @Test(arguments: LedgerBackend.available)
  func `an approval of what the account owns by then makes a repeat`(backend: LedgerBackend) throws
  {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    #expect(try ledger.addVouchers([.of("v0"), .of("v1")], for: nil, at: .sale) == 2)
    // Before and after the deciders were asked.
    for (number, change) in [PurchaseChange.approve, Self.payingByVoucher()].enumerated() {
      let (asked, sold) = ("asked\(number)", "sold\(number)")
      let product = "p\(number)"
      try ledger.buy(
        .once(asked, product, state: .deferred(.approval), voucher: "v\(number)"))
      try ledger.buy(.once(sold, product), at: Self.later)
      let outcome = try ledger.make(
        .decide(transaction: asked, change, actor: "desk"), at: Self.later)
      let again = try #require(outcome.purchase)
      #expect(try !outcome.isRepeated && again == ledger.purchase(asked))
      #expect(again.original == .init(transaction: sold, date: Self.later))
      #expect(again.state == .purchased && again.price?.milliunits == 0)
      #expect(again.date == Self.later && again.reference == nil)
      #expect(try ledger.events(after: 0, limit: 99).last?.purchase == again)
      // Its voucher is free again.
      let paid = try ledger.buy(.of("paid\(number)", voucher: "v\(number)")).purchase
      #expect(paid?.state == .purchased)
      #expect(try ledger.decide(asked, .approve).isRepeated)
      #expect(try ledger.make(.finish(transaction: asked)).purchase?.finished == .sale)
      #expect(try ledger.purchase(sold)?.finished == nil)
      #expect(try ledger.decide(asked, .refund(reason: "")).purchase?.state.name == "refunded")
      #expect(try ledger.purchase(sold)?.state.name == "refunded")
    }
    #expect(
      try ledger.told() == [
        "purchased sold0", "decided asked0", "purchased paid0", "refunded sold0",
        "purchased sold1", "decided asked1", "purchased paid1", "refunded sold1",
      ])
    #expect(try ledger.owned("ann") == ["paid0", "paid1"])
    #expect(try fixture.values("SELECT count(*) FROM purchase WHERE kind = 'repeat'") == ["2"])
  }

  @Test(arguments: LedgerBackend.available)
  func `a refusal by the deciders stays one, although the account owns the product`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    try ledger.buy(.once("t1", state: .deferred(.approval)))
    try ledger.buy(.of("t2", state: .deferred(.approval)))
    try ledger.buy(.once("t3"))
    let no = PurchaseState.failed(.declined("no"))
    #expect(try ledger.decide("t1", .decide(SaleDecision(no))).purchase?.state == no)
    // A product that is not sold once is sold again.
    let sold = try #require(try ledger.decide("t2", Self.sale).purchase)
    #expect(sold.original == nil && sold.price?.milliunits == 1_990)
  }

  @Test(arguments: LedgerBackend.available)
  func `at most 20 purchases of an account wait for approval`(backend: LedgerBackend) throws {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    try ledger.buy(.once("owned", "b"))
    for account: AccountID? in ["ann", nil] {
      let name = account?.rawValue ?? "own"
      func asked(_ number: Int) throws -> PurchaseDraft {
        try .of("\(name)\(number)", account: account, state: .deferred(.approval))
      }
      let changes = try (0..<23).map { LedgerChange.purchase(try asked($0)) }
      let results = try ledger.commit(changes, at: .sale)
      #expect(results[..<20].allSatisfy { (try? $0.get().isRepeated) == false })
      #expect(results[20...].allSatisfy { $0 == .failure(.tooManyWaiting(20)) })
      #expect(try ledger.buy(asked(0)).isRepeated)
      #expect(try ledger.purchase("\(name)20") == nil)
      // Each decision makes room for another one.
      try ledger.decide("\(name)3", .decline(reason: ""))
      try ledger.buy(asked(20))
      try ledger.decide("\(name)4", .decide(SaleDecision(.deferred(.payment))))
      try ledger.buy(asked(21))
      #expect(throws: LedgerRefusal.tooManyWaiting(20)) { try ledger.buy(asked(22)) }
      try ledger.buy(.of("\(name)-payment", account: account, state: .deferred(.payment)))
      try ledger.buy(.of("\(name)-sold", account: account))
    }
    // What is owned does not wait.
    let again = try ledger.buy(.once("again", "b", state: .deferred(.approval))).purchase
    #expect(again?.original?.transaction == "owned")
    #expect(
      throws: LedgerRefusal.tooManyWaiting(20),
      performing: {
        try ledger.buy(.of("more", "c", state: .deferred(.approval)))
      })
    try ledger.buy(.of("bob", account: "bob", state: .deferred(.approval)))
    // A refused account leaves no name.
    #expect(try fixture.values("SELECT count(*) FROM account") == ["3"])
  }

  // MARK: Vouchers

  @Test(arguments: LedgerBackend.available)
  func `a voucher is reserved until the purchase is decided, and used once`(backend: LedgerBackend)
    throws
  {
    let fixture = try LedgerFixture(backend)
    let ledger = try fixture.ledger()
    let codes = ["sold", "declined", "refused", "interrupted", "expired"]
    #expect(try ledger.addVouchers(codes.map { .of($0) }, for: nil, at: .sale) == 5)
    var count = 0
    /// Whether another purchase cannot have the voucher; it is used otherwise.
    func isTaken(_ code: String) throws -> Bool {
      count += 1
      let found = try ledger.buy(.of("other\(count)", account: "bob", voucher: code)).purchase
      return found?.state.name == "failed"
    }
    for code in codes {
      let asked = try #require(
        try ledger.buy(.of(code, state: .deferred(.approval), voucher: code)).purchase)
      #expect(asked.state == .deferred(.approval))
      #expect(try isTaken(code))
      let other = try ledger.buy(
        .of("also-\(code)", state: .deferred(.approval), voucher: code)
      ).purchase
      #expect(other?.state.name == "failed")
      #expect(throws: LedgerRefusal.needsDecision(asked, hasVoucher: true)) {
        try ledger.decide(code, .approve)
      }
    }
    #expect(try fixture.values("SELECT count(*) FROM voucher WHERE used_at IS NULL") == ["5"])
    #expect(try ledger.decide("sold", Self.payingByVoucher()).purchase?.state == .purchased)
    #expect(try fixture.values("SELECT count(*) FROM voucher WHERE used_at IS NULL") == ["4"])
    #expect(try isTaken("sold"))
    // A refund does not free it.
    try ledger.decide("sold", .refund(reason: ""))
    #expect(try isTaken("sold"))

    try ledger.decide("declined", .decline(reason: ""))
    try ledger.decide("refused", .decide(SaleDecision(.failed(.declined("no")))))
    try ledger.decide("interrupted", .decide(SaleDecision(.failed(.interrupted))))
    for code in ["declined", "refused", "interrupted"] {
      #expect(try !isTaken(code))
      #expect(try isTaken(code))
    }
    // A voucher that has ended in the meantime pays for nothing.
    _ = try fixture.values(
      "UPDATE voucher SET expires_at = 1 WHERE used_at IS NULL RETURNING created_at")
    let late = try ledger.decide("expired", Self.payingByVoucher()).purchase
    #expect(late?.state.name == "failed")
    #expect(try ledger.purchase("expired") == late)
  }

  @Test(arguments: LedgerBackend.available)
  func `a request whose voucher is not redeemed leaves it unused`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    #expect(try ledger.addVouchers([.of("v")], for: nil, at: .sale) == 1)
    let states: [PurchaseState] = [
      .purchased, .deferred(.approval), .failed(.interrupted), .failed(.declined("")),
    ]
    for (number, state) in states.enumerated() {
      var draft = try PurchaseDraft.of("t\(number)", state: state, voucher: "v")
      draft.usesVoucher = false
      #expect(try ledger.buy(draft).purchase?.state == state)
    }
    try ledger.decide("t1", Self.sale)
    #expect(try ledger.buy(.of("u", voucher: "v")).purchase?.state == .purchased)
  }

  // MARK: Keys

  @Test(arguments: LedgerBackend.available)
  func `a change with the same key is made once, also after a later one`(backend: LedgerBackend)
    throws
  {
    let ledger = try LedgerFixture(backend).ledger()
    try ledger.buy(.once("t"))
    try ledger.buy(.once("repeat"))
    try ledger.buy(.once("u", "b"))
    let refund = PurchaseChange.refund(reason: "broken")
    #expect(try !ledger.decide("t", refund, actor: "desk", key: "k").isRepeated)
    #expect(try ledger.decide("t", refund, actor: "desk", key: "k").isRepeated)
    #expect(try !ledger.decide("t", .reverse, actor: "desk", key: "k2").isRepeated)
    let known = try ["t", "repeat"].map { try ledger.purchase($0) }
    // By each of its names, and with another reason.
    for (name, record) in zip(["t", "repeat"], known) {
      for reason in ["broken", "other"] {
        let again = try ledger.decide(name, .refund(reason: reason), actor: "desk", key: "k")
        #expect(again == LedgerOutcome(record, isRepeated: true))
        #expect(record?.state == .purchased)
      }
    }
    for change in [PurchaseChange.revoke(reason: ""), .reverse, .approve, .decline(reason: "")] {
      #expect(throws: LedgerRefusal.otherChange) {
        try ledger.decide("t", change, actor: "desk", key: "k")
      }
    }
    #expect(throws: LedgerRefusal.otherChange) {
      try ledger.decide("u", refund, actor: "desk", key: "k")
    }
    #expect(throws: LedgerRefusal.unknownTransaction("x")) {
      try ledger.decide("x", refund, actor: "desk", key: "k")
    }
    #expect(try ["t", "repeat"].map { try ledger.purchase($0) } == known)
    // Another actor has other keys.
    #expect(try !ledger.decide("u", refund, actor: "bank", key: "k").isRepeated)
    #expect(
      try ledger.events(after: 0, limit: 9).map(\.actor) == [nil, nil, "desk", "desk", "bank"])
    // A key lasts as long as its event.
    try ledger.pruneEvents(before: Self.later, now: Self.later)
    #expect(try !ledger.decide("repeat", refund, actor: "desk", key: "k").isRepeated)
    #expect(try ledger.purchase("t")?.state.name == "refunded")
  }

  @Test(arguments: LedgerBackend.available)
  func `an approval with a key is decided once`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    let answers: [PurchaseState] = [
      .purchased, .deferred(.payment), .failed(.declined("no")), .failed(.interrupted),
    ]
    for (number, state) in answers.enumerated() {
      let (name, key) = ("t\(number)", "k\(number)")
      let old = try #require(try ledger.buy(.of(name, state: .deferred(.approval))).purchase)
      // A refused change does not take the key.
      #expect(throws: LedgerRefusal.needsDecision(old, hasVoucher: false)) {
        try ledger.decide(name, .approve, actor: "desk", key: key)
      }
      let decided = try ledger.decide(
        name, .decide(SaleDecision(state)), actor: "desk", key: key)
      #expect(decided.purchase?.state == state && !decided.isRepeated)
      // Two requests at once had both asked the deciders.
      for change in [PurchaseChange.approve, Self.sale] {
        let again = try ledger.decide(name, change, actor: "desk", key: key)
        #expect(again == LedgerOutcome(decided.purchase, isRepeated: true))
      }
      #expect(throws: LedgerRefusal.otherChange) {
        try ledger.decide(name, .decline(reason: ""), actor: "desk", key: key)
      }
    }
    #expect(try ledger.decide("t1", .approve, actor: "desk", key: "next").isRepeated == false)
    try ledger.decide("t0", .refund(reason: ""))
    let late = try ledger.decide("t0", .approve, actor: "desk", key: "k0")
    #expect(late.isRepeated && late.purchase?.state.name == "refunded")

    try ledger.buy(.of("declined", state: .deferred(.payment)))
    let decline = PurchaseChange.decline(reason: "no")
    #expect(try !ledger.decide("declined", decline, actor: "desk", key: "d").isRepeated)
    #expect(try ledger.decide("declined", decline, actor: "desk", key: "d").isRepeated)
  }

  @Test(arguments: LedgerBackend.available)
  func `an approval with a key that makes a repeat can be requested again`(backend: LedgerBackend)
    throws
  {
    let ledger = try LedgerFixture(backend).ledger()
    try ledger.buy(.once("asked", state: .deferred(.approval)))
    try ledger.buy(.once("sold"))
    let first = try ledger.decide("asked", .approve, actor: "desk", key: "k")
    #expect(first.purchase?.original?.transaction == "sold")
    let again = try ledger.decide("asked", .approve, actor: "desk", key: "k")
    #expect(again == LedgerOutcome(first.purchase, isRepeated: true))
    #expect(throws: LedgerRefusal.otherChange) {
      try ledger.decide("asked", .refund(reason: ""), actor: "desk", key: "k")
    }
  }

  @Test(arguments: LedgerBackend.available)
  func `a key that is sent to several users of a database at once makes one change`(
    backend: LedgerBackend
  ) throws {
    let fixture = try LedgerFixture(backend)
    let users = try (0..<4).map { _ in try fixture.ledger() }
    let ledger = users[0]
    for number in 0..<10 { try ledger.buy(.of("t\(number)", state: .deferred(.approval))) }
    try onThreads(4) { thread in
      for number in 0..<10 {
        let change = thread % 2 == 0 ? Self.sale : .decide(SaleDecision(.deferred(.payment)))
        try users[thread].decide("t\(number)", change, actor: "desk", key: "k\(number)")
      }
    }
    #expect(try Set(ledger.told()) == Set((0..<10).map { "decided t\($0)" }))
    #expect(try ledger.told().count == 10)
  }
}
