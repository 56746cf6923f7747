import HostedModel
import HostedFileIO
import Foundation
import HostedSimulation
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("The ledger and its model", .timeLimit(.hang))
struct LedgerModelTests {
  private static let accounts: [AccountID?] = [nil, "ann", "bob"]
  private static let vouchers = Set((0..<6).map { Digest.of("v\($0)") })

  /// Returns a random change; transactions repeat, often with another request.
  private func change(_ random: inout SplitMix, _ known: [PurchaseRecord]) throws -> LedgerChange {
    let transaction = "t\(Int.random(in: 0..<60, using: &random))"
    switch Int.random(in: 0..<24, using: &random) {
    case 0..<10: return .purchase(try draft(transaction, &random))
    case 10..<13: return .finish(transaction: transaction)
    case 13: return .erase(account: "bob")
    case 14: return .publish
    case 15:
      // Most cannot be deleted.
      let places = known.count + 1
      let place = Int.random(in: 0..<places, using: &random)
      return .delete(sequence: place < known.count ? known[place].sequence : 0)
    default:
      var sale = SaleDecision(
        [.purchased, .purchased, .deferred(.payment), .failed(.declined("empty"))][
          Int.random(in: 0..<4, using: &random)])
      sale.usesVoucher = Bool.random(using: &random)
      sale.reference = Bool.random(using: &random) ? "payment" : nil
      sale.price = Bool.random(using: &random) ? SoldPrice(milliunits: 5, currency: "USD") : nil
      let changes: [PurchaseChange] = [
        .approve, .decide(sale), .decline(reason: "later no"), .refund(reason: "asked"),
        .revoke(reason: "fraud"), .reverse,
      ]
      let (actor, key) = (
        Int.random(in: 0..<3, using: &random), Int.random(in: 0..<99, using: &random)
      )
      return .decide(
        transaction: transaction, changes[Int.random(in: 0..<6, using: &random)],
        actor: actor == 0 ? nil : "actor\(actor)", key: key < 60 ? "\(key)" : nil)
    }
  }

  private func draft(_ transaction: String, _ random: inout SplitMix) throws -> PurchaseDraft {
    let states: [PurchaseState] = [
      .purchased, .purchased, .deferred(.approval), .deferred(.payment), .failed(.interrupted),
      .failed(.declined("no")),
    ]
    let voucher = Int.random(in: 0..<9, using: &random)
    var draft = try PurchaseDraft.of(
      transaction, "product\(Int.random(in: 0..<3, using: &random))",
      account: Self.accounts[Int.random(in: 0..<3, using: &random)],
      state: states[Int.random(in: 0..<6, using: &random)],
      isSoldOnce: Bool.random(using: &random), voucher: voucher < 7 ? "v\(voucher)" : nil,
      isRestorable: Bool.random(using: &random))
    draft.usesVoucher = Bool.random(using: &random)
    draft.reference = Bool.random(using: &random) ? "reference" : nil
    return draft
  }

  @Test(.slow, arguments: 1...20)
  func `random changes have the results of the model, even if steps fail`(seed: Int) throws {
    let folder = try TemporaryFolder()
    var random = SplitMix(state: UInt64(seed))
    var model = LedgerModel(vouchers: Self.vouchers)
    _ = try Ledger(SQLiteLedger(in: folder.opened()))
      .addVouchers(Array(Self.vouchers), for: nil, at: .sale)
    var date = Date(timeIntervalSince1970: 1_700_000_000)
    for round in 0..<80 {
      date += 1
      let count = Int.random(in: 1...6, using: &random)
      let known = model.purchases.values.map(\.record).sorted { $0.sequence < $1.sequence }
      let changes = try (0..<count).map { _ in try change(&random, known) }
      // A commit that fails at any step changes nothing, and succeeds the next time.
      let plan = FaultPlan(failing: Int.random(in: 0...8, using: &random))
      let failing = try? Ledger(SQLiteLedger(in: folder.opened(plan.fileSystem)))
        .commit(changes, at: date)
      let results =
        try failing ?? Ledger(SQLiteLedger(in: folder.opened())).commit(changes, at: date)
      let expected = model.commit(changes, at: date)
      #expect(
        results.map(normalized) == expected.map(normalized), "seed \(seed), round \(round)")
    }
    let ledger = try Ledger(SQLiteLedger(in: folder.opened()))
    for entry in model.purchases.values {
      let found = try #require(try ledger.purchase(entry.record.transaction))
      #expect(normalized(found) == normalized(entry.record), "seed \(seed)")
    }
    for account in Self.accounts {
      #expect(try ledger.owned(account: account) == model.owned(account: account))
    }
    let events = try ledger.events(after: 0, limit: 10_000)
    #expect(events.map(\.sequence) == model.events.map(\.sequence))
    #expect(events.map(\.kind) == model.events.map(\.kind))
    #expect(events.map(\.actor) == model.events.map(\.actor))
    #expect(events.map { $0.purchase?.transaction } == model.events.map(\.transaction))
  }

  // MARK: Erased accounts

  /// Erased accounts have random names.
  private func normalized(_ record: PurchaseRecord) -> PurchaseRecord {
    var record = record
    if !Self.accounts.contains(record.account) { record.account = "erased" }
    return record
  }

  private func normalized(_ result: Result<LedgerOutcome, LedgerRefusal>)
    -> Result<LedgerOutcome, LedgerRefusal>
  {
    switch result {
    case .success(let outcome):
      var copy = LedgerOutcome(
        outcome.purchase.map(normalized), isRepeated: outcome.isRepeated)
      copy.sales = outcome.sales
      return .success(copy)
    case .failure(.otherRequest(let record)): return .failure(.otherRequest(normalized(record)))
    case .failure(.impossible(let record)): return .failure(.impossible(normalized(record)))
    case .failure(.needsDecision(let record, let hasVoucher)):
      return .failure(.needsDecision(normalized(record), hasVoucher: hasVoucher))
    case .failure: return result
    }
  }
}
