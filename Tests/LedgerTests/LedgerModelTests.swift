import HostedModel
import HostedFileIO
import Foundation
import HostedSimulation
import HostedLedger
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("The ledger and its model", .timeLimit(.hang))
struct LedgerModelTests {
  private static let accounts: [AccountID?] = [nil, "ann", "bob"]
  private static let vouchers = Set(
    (0..<6).compactMap { Digest(hex: String(repeating: "\($0)", count: 64)) })

  /// Returns a random change; transactions repeat, often with another request.
  private func change(_ random: inout SplitMix) throws -> LedgerChange {
    let transaction = "t\(Int.random(in: 0..<40, using: &random))"
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<8:
      let account = Self.accounts[Int.random(in: 0..<3, using: &random)]
      let product = try ProductIdentifier(
        validating: "product\(Int.random(in: 0..<3, using: &random))")
      let states: [PurchaseState] = [
        .purchased, .purchased, .deferred, .failed(.interrupted), .failed(.declined("no")),
      ]
      let voucher =
        Int.random(in: 0..<4, using: &random) == 0
        ? Self.vouchers.randomElement(using: &random) : nil
      return .purchase(
        PurchaseDraft(
          transaction: transaction, account: account, product: product, quantity: 1,
          requestDigest: try PurchaseDraft.digest(of: product, account: account, quantity: 1),
          state: states[Int.random(in: 0..<5, using: &random)],
          contents: [
            ContentKey(
              product,
              version: try ContentVersion(validating: "1.\(Int.random(in: 0..<3, using: &random))"))
          ],
          isRestorable: Bool.random(using: &random),
          price: Bool.random(using: &random)
            ? SoldPrice(milliunits: 990, currency: "EUR") : nil,
          voucher: voucher))
    case 8..<11: return .finish(transaction: transaction)
    case 11: return .erase(account: "bob", replacement: "erased")
    case 12: return .publish
    default:
      let changes: [PurchaseChange] = [
        .approve, .decline(reason: "later no"), .refund(reason: "asked"), .revoke(reason: "fraud"),
        .reverse,
      ]
      return .decide(
        transaction: transaction, changes[Int.random(in: 0..<5, using: &random)])
    }
  }

  @Test(.slow, arguments: 1...20)
  func `random changes have the results of the model, even if steps fail`(seed: Int) throws {
    let folder = try TemporaryFolder()
    var random = SplitMix(state: UInt64(seed))
    var model = LedgerModel(vouchers: Self.vouchers)
    _ = try Ledger(SQLiteLedger(in: folder.opened())).addVouchers(Array(Self.vouchers), for: nil)
    var date = Date(timeIntervalSince1970: 1_700_000_000)
    for round in 0..<60 {
      date += 1
      let count = Int.random(in: 1...6, using: &random)
      let changes = try (0..<count).map { _ in try change(&random) }
      // A commit that fails at any step changes nothing, and succeeds the next time.
      let plan = FaultPlan(failing: Int.random(in: 0...8, using: &random))
      let failing = try? Ledger(SQLiteLedger(in: folder.opened(plan.fileSystem)))
        .commit(changes, at: date)
      let results =
        try failing ?? Ledger(SQLiteLedger(in: folder.opened())).commit(changes, at: date)
      #expect(results == model.commit(changes, at: date), "seed \(seed), round \(round)")
    }
    let ledger = try Ledger(SQLiteLedger(in: folder.opened()))
    for entry in model.purchases.values {
      #expect(try ledger.purchase(entry.record.transaction) == entry.record, "seed \(seed)")
    }
    for account in Self.accounts + ["erased"] {
      #expect(try ledger.owned(account: account) == model.owned(account: account))
    }
    let events = try ledger.events(after: 0, limit: 10_000)
    #expect(events.map(\.sequence) == model.events.map(\.sequence))
    #expect(events.map(\.kind) == model.events.map(\.kind))
    #expect(events.map { $0.purchase?.transaction } == model.events.map(\.transaction))
  }
}
