import HostedModel
import Foundation
import HostedShop
import HostedTestTraits
import Testing

@Suite("The states of a purchase", .waiting, .timeLimit(.hang))
struct PurchaseStateTests {
  typealias Transition = PurchaseState.Transition

  static let states: [PurchaseState] = [
    .deferred(.approval), .deferred(.payment), .failed(.interrupted), .purchased,
    .failed(.declined("no")), .refunded(at: .sale, reason: "broken"),
    .revoked(at: .sale, reason: "fraud"),
  ]
  static let changes: [PurchaseChange] = [
    .approve, .decide(SaleDecision(.deferred(.payment))), .decline(reason: "no"),
    .refund(reason: "broken"), .revoke(reason: "fraud"), .reverse,
  ]

  /// The result of each of `changes` in each of `states`.
  static let transitions: [[Transition]] = {
    let (sold, declined) = (PurchaseState.purchased, PurchaseState.failed(.declined("no")))
    let refunded = PurchaseState.refunded(at: .sale, reason: "broken")
    let revoked = PurchaseState.revoked(at: .sale, reason: "fraud")
    return [
      // Approve, decide, decline, refund, revoke, reverse.
      [
        .needsDecision, .changed(.deferred(.payment), .decided), .changed(declined, .declined),
        .impossible, .impossible, .impossible,
      ],
      [
        .changed(sold, .decided), .impossible, .changed(declined, .declined), .impossible,
        .impossible, .impossible,
      ],
      [
        .changed(sold, .decidedAfterInterruption), .impossible, .impossible, .impossible,
        .impossible, .impossible,
      ],
      [
        .unchanged, .impossible, .impossible, .changed(refunded, .refunded),
        .changed(revoked, .revoked), .unchanged,
      ],
      [.impossible, .impossible, .unchanged, .impossible, .impossible, .impossible],
      [
        .impossible, .impossible, .impossible, .unchanged, .impossible, .changed(sold, .reversed),
      ],
      [
        .impossible, .impossible, .impossible, .impossible, .unchanged, .changed(sold, .reversed),
      ],
    ]
  }()

  @Test func `each change has its result in each state`() {
    for (state, expected) in zip(Self.states, Self.transitions) {
      #expect(Self.changes.map { state.applying($0, at: .sale) } == expected, "\(state)")
    }
    let canFinish = Self.states.map(\.canFinish)
    #expect(canFinish == [false, false, false, true, false, true, true])
  }

  /// Records a purchase in `state`, which for some states needs a change.
  private func record(_ transaction: String, _ state: PurchaseState, in ledger: Ledger) throws
    -> PurchaseRecord
  {
    let (first, change): (PurchaseState, PurchaseChange?) =
      switch state {
      case .refunded(_, let reason): (.purchased, .refund(reason: reason))
      case .revoked(_, let reason): (.purchased, .revoke(reason: reason))
      case .deferred, .purchased, .failed: (state, nil)
      }
    var outcome = try ledger.buy(.of(transaction, state: first))
    if let change { outcome = try ledger.decide(transaction, change) }
    return try #require(outcome.purchase)
  }

  @Test(arguments: LedgerBackend.available)
  func `a ledger stores each new state, with an event, and refuses the other changes`(
    backend: LedgerBackend
  ) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for (row, state) in Self.states.enumerated() {
      for (column, change) in Self.changes.enumerated() {
        let transaction = "t\(row)-\(column)"
        let old = try record(transaction, state, in: ledger)
        #expect(old.state == state)
        let last = try #require(try ledger.head()).last
        let result = try ledger.commit([.decide(transaction: transaction, change)], at: .sale)[0]
        let found = try #require(try ledger.purchase(transaction))
        let events = try ledger.events(after: last, limit: 10)
        switch Self.transitions[row][column] {
        case .needsDecision:
          #expect(result == .failure(.needsDecision(old, hasVoucher: false)))
          #expect(found == old)
          #expect(events.isEmpty)
        case .impossible:
          #expect(result == .failure(.impossible(old)))
          #expect(found == old)
          #expect(events.isEmpty)
        case .unchanged:
          #expect(result == .success(LedgerOutcome(old, isRepeated: true)))
          #expect(found == old)
          #expect(events.isEmpty)
        case .changed(let new, let kind):
          #expect(result == .success(LedgerOutcome(found, isRepeated: false)))
          #expect(found.state == new)
          #expect(found.sequence == old.sequence && found.revision > last)
          #expect(events.map(\.kind) == [kind])
          #expect(events.first?.sequence == found.revision)
          #expect(events.first?.purchase == found)
        }
      }
    }
    #expect(throws: LedgerRefusal.unknownTransaction("t")) { try ledger.decide("t", .approve) }
  }

  @Test(arguments: LedgerBackend.available)
  func `a purchase is finished once, and only after it was sold`(backend: LedgerBackend) throws {
    let ledger = try LedgerFixture(backend).ledger()
    for (row, state) in Self.states.enumerated() {
      let old = try record("t\(row)", state, in: ledger)
      let finish = LedgerChange.finish(transaction: "t\(row)")
      let first = try ledger.commit([finish], at: .sale)[0]
      guard state.canFinish else {
        #expect(first == .failure(.impossible(old)))
        continue
      }
      var finished = old
      finished.finished = .sale
      #expect(first == .success(LedgerOutcome(finished, isRepeated: false)))
      let again = try ledger.commit([finish], at: .sale.addingTimeInterval(5))[0]
      #expect(again == .success(LedgerOutcome(finished, isRepeated: true)))
      #expect(try ledger.purchase("t\(row)") == finished)
    }
  }
}
