import Foundation
import HostedContent
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
    for _ in 0..<3 { _ = try await queue.deliver(Payment("a")) }
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
