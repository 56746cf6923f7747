import Foundation
import HostedConcurrency
import HostedContent
import HostedFileIO
import HostedModel
import HostedShop
import HostedTestSupport
import HostedTestTraits
import Testing

/// What ordinary buyers do with the built-in service and a decider.
@Suite("One life of a purchase, in process", .timeLimit(.hang))
struct LocalShopTests {
  private let fixture: StoreFixture
  private let bank = Bank()

  init() throws { fixture = try StoreFixture(publishing: "a", "1.0") }

  /// Authorizes a payment for each transaction that it is asked about.
  private final class Bank: PurchaseDecider {
    let asked = Watched<[PurchaseRequest]>([])
    let answers = Watched<[Result<PurchaseDecision, ContentError>]>([])

    func decide(_ request: PurchaseRequest) async throws -> PurchaseDecision {
      asked.change { $0.append(request) }
      let answer = answers.change { $0.isEmpty ? nil : $0.removeFirst() }
      return try answer?.get() ?? .approve()
    }

    var charged: Set<TransactionID> { Set(asked.value.map(\.transaction)) }
  }

  private func queue(_ name: String) throws -> PaymentQueue {
    try fixture.queue {
      $0.library = URL(filePath: fixture.folder.path(name))
      $0.ledgerFile = URL(filePath: fixture.folder.path("shared/ledger.sqlite"))
      $0.decider = bank
    }
  }

  @Test func `three devices of an owner get the content, and one payment is made`() async throws {
    for device in ["phone", "tablet", "desk"] {
      let queue = try queue(device)
      let folders = try await queue.deliver(Payment("a"))
      #expect(folders.count == 1, "\(device)")
      #expect(try await queue.grants().count == 1)
      queue.close()
    }
    #expect(bank.charged.count == 1 && bank.asked.value.count == 1)
  }

  @Test func `a product that was removed is delivered again without a payment`() async throws {
    let queue = try queue("phone")
    defer { queue.close() }
    for _ in 0..<3 {
      let folders = try await queue.deliver(Payment("a"))
      #expect(folders.count == 1)
      try await queue.remove("a", version: "1.0")
    }
    #expect(bank.asked.value.count == 1)
  }

  @Test func `two payments at once are one sale and one repeat`() async throws {
    let queue = try queue("phone")
    defer { queue.close() }
    async let first = queue.purchase(Payment("a"))
    async let second = queue.purchase(Payment("a"))
    let states = try await [first, second].map(\.transactionState)
    #expect(states == [.purchased, .purchased])
    #expect(bank.charged.count == 1)
    #expect(try await queue.grants().count == 1)
  }

  @Test func `a decider that throws is asked again about the same transaction`() async throws {
    let failure = ContentError(.requestRefused, "The bank is offline", remedy: "Wait")
    bank.answers.change { $0 = [.failure(failure)] }
    let queue = try queue("phone")
    defer { queue.close() }
    let transaction = try await queue.purchase(Payment("a"))
    #expect(transaction.transactionState == .purchased)
    #expect(bank.asked.value.count == 2 && bank.charged.count == 1)
  }

  @Test func `a declined payment fails with its reason`() async throws {
    bank.answers.change { $0 = [.success(.decline(reason: "No money"))] }
    let queue = try queue("phone")
    defer { queue.close() }
    let error = await #expect(throws: ContentError.self) { try await queue.purchase(Payment("a")) }
    #expect(error?.code == .purchaseDeclined && error?.message.contains("No money") == true)
    #expect(try await queue.purchase(Payment("a")).transactionState == .purchased)
  }

  @Test func `a purchase that waits for a payment is sold when it is approved`() async throws {
    bank.answers.change { $0 = [.success(.later), .success(.later)] }
    let queue = try queue("phone")
    defer { queue.close() }
    let observer = RecordingObserver(of: queue)
    for isApproved in [false, true] {
      let id = queue.add(Payment("a"))
      await observer.wait { $0.transactionStates[id]?.last == .deferred }
      let waiting = queue.transactions.first { $0.id == id }
      try await queue.decideAskToBuy(#require(waiting), isApproved: isApproved)
      await observer.wait {
        $0.transactionStates[id]?.last == (isApproved ? .purchased : .failed)
      }
    }
    #expect(bank.asked.value.count == 2)
  }

  @Test func `a purchase that waits for 90 days is declined, and deleted 30 days later`()
    async throws
  {
    bank.answers.change { $0 = [.success(.later)] }
    let clock = Watched(Date(timeIntervalSince1970: 1_800_000_000))
    let ledger = Ledger(
      try SQLiteLedger("ledger.sqlite", in: fixture.folder.directory.createDirectory("shared")))
    func sell(_ product: ProductIdentifier, after days: Double) async throws {
      clock.change { $0 += days * 86_400 }
      let queue = try fixture.queue {
        $0.library = URL(filePath: fixture.folder.path("day-\(days)"))
        $0.ledgerFile = URL(filePath: fixture.folder.path("shared/ledger.sqlite"))
        $0.decider = bank
        $0.clock = EngineClock(now: { clock.value }, uptime: EngineClock.system.uptime)
      }
      defer { queue.close() }
      let observer = RecordingObserver(of: queue)
      let id = queue.add(Payment(product))
      await observer.wait { log in
        [.deferred, .failed].contains(log.transactionStates[id]?.last)
      }
    }
    try await sell("a", after: 0)
    let waiting = try #require(bank.asked.value.first?.transaction.rawValue)
    try await sell("unknown", after: 89)
    #expect(try ledger.purchase(waiting)?.state == .deferred(.payment))
    try await sell("unknown", after: 2)
    #expect(try ledger.purchase(waiting)?.state.name == "failed")
    try await sell("unknown", after: 31)
    #expect(try ledger.purchase(waiting) == nil)
  }

  @Test func `the decider decides about a purchase that another person has approved`() async throws
  {
    let queue = try queue("phone")
    defer { queue.close() }
    let observer = RecordingObserver(of: queue)
    bank.answers.change { $0 = [.success(.decline(reason: "No money"))] }
    let id = queue.add(Payment(productIdentifier: "a", simulatesAskToBuy: true))
    await observer.wait { $0.transactionStates[id]?.last == .deferred }
    #expect(bank.asked.value.isEmpty)
    let transaction = try #require(queue.transactions.first)
    try await queue.decideAskToBuy(transaction, isApproved: true)
    await observer.wait { $0.transactionStates[id]?.last == .failed }
    #expect(bank.asked.value.map(\.isApproved) == [true])
  }
}

extension Payment {
  fileprivate init(_ product: ProductIdentifier) { self.init(productIdentifier: product) }
}
