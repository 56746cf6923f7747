import FoundationEssentials
import HostedModel
@testable import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Events of the store service", .timeLimit(.hang))
struct StoreEventTests {
  private let fixture: StoreFixture
  private let service: ScriptedService
  private let product = ProductIdentifier("a")

  init() throws {
    fixture = try StoreFixture()
    let offered = Product(
      productIdentifier: product, type: .nonConsumable, texts: [:], price: nil,
      contents: [])
    service = ScriptedService([offered])
  }

  private func queue() throws -> PaymentQueue { try fixture.queue { $0.service = service } }

  private func grant(_ id: String) -> Grant {
    Grant(id, Payment(productIdentifier: product))
  }

  @Test(
    "A deferred purchase is decided later: approved, declined, or never", arguments: [true, false])
  func deferred(isApproved: Bool) async throws {
    service.answer(product, .deferred)
    let queue = try queue()
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.transactionStates[id]?.last == .deferred }
    // Meanwhile it cannot be finished, and the user can buy again.
    queue.finishTransaction(try #require(queue.transactions.first))
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.first?.code == .cannotFinish)
    let declined = ContentError(.notEntitled, "A parent declined", remedy: "Ask")
    service.send(
      .answered(
        transaction: id,
        isApproved ? .purchased(grant("g"), contents: []) : .failed(declined)))
    await observer.wait { log in
      [.purchased, .failed].contains(log.transactionStates[id]?.last)
    }
    #expect(
      observer.log.transactionStates[id]
        == [.purchasing, .deferred, isApproved ? .purchased : .failed])
    #expect(observer.log.transactions[id]?.error == (isApproved ? nil : declined))
    queue.close()
  }

  @Test(
    "A simulated ask-to-buy is deferred, even after a relaunch, until it is decided",
    arguments: [true, false])
  func askToBuy(isApproved: Bool) async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    let first = try fixture.queue()
    let observer = RecordingObserver(of: first)
    let id = first.add(Payment(productIdentifier: product, simulatesAskToBuy: true))
    await observer.wait { $0.transactionStates[id]?.last == .deferred }
    first.close()
    let queue = try fixture.queue()
    let later = RecordingObserver.delivering(of: queue)
    await later.wait { $0.transactionStates[id]?.last == .deferred }
    let transaction = try #require(queue.transactions.first)
    #expect(transaction.payment.simulatesAskToBuy)
    try await queue.decideAskToBuy(transaction, isApproved: isApproved)
    await later.wait { $0.removed == [id] }
    #expect(later.log.transactions[id]?.transactionState == (isApproved ? .purchased : .failed))
    if isApproved { try fixture.expectInstalled("a", "1.0") }
    await #expect(throws: ContentError.self) {
      try await queue.decideAskToBuy(transaction, isApproved: true)
    }
  }

  @Test("An interrupted purchase fails first and is later granted once as another transaction")
  func interrupted() async throws {
    service.answer(
      product,
      .failed(ContentError(.notEntitled, "The card has expired", remedy: "Change the card")))
    let queue = try queue()
    let observer = RecordingObserver.delivering(of: queue)
    let first = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.removed == [first] }
    service.send(.granted(grant("later"), contents: []))
    await observer.wait { $0.removed.count == 2 }
    let second = try #require(observer.log.removed.last)
    #expect(second != first)
    #expect(observer.log.transactions[second]?.transactionIdentifier == "later")
  }

  @Test("A revocation is reported and removes nothing")
  func revoked() async throws {
    let fixture = try StoreFixture(publishing: "a", "1.0")
    try await fixture.install(product)
    let again = try fixture.queue { $0.service = service }
    let second = RecordingObserver(of: again)
    service.send(.revoked(Revocation([product])))
    await second.wait { !$0.revoked.isEmpty }
    #expect(second.log.revoked == [product])
    try fixture.expectInstalled("a", "1.0")
  }

  @Test(
    "A promoted payment is added only if an observer wants it",
    arguments: [true, false])
  func promoted(isWanted: Bool) async throws {
    let queue = try queue()
    let observer = RecordingObserver(wantsPromoted: isWanted)
    let other = RecordingObserver()
    queue.add(observer)
    queue.add(other)
    service.send(.promoted(Payment(productIdentifier: product)))
    await observer.wait { $0.promoted.count == 1 }
    // A later event shows that it was handled.
    service.send(.revoked(Revocation([product])))
    await other.wait { $0.revoked.count == 1 }
    if isWanted {
      await observer.wait { $0.transactions.count == 1 }
    } else {
      #expect(queue.transactions.isEmpty)
    }
    #expect(other.log.promoted.count == 1)
    queue.close()
  }

  @Test("What happens before the first observer is added is reported to it, or comes again")
  func beforeObservers() async throws {
    _ = service.grant(product, "g")
    let first = try queue()
    first.restoreCompletedTransactions()
    service.send(.revoked(Revocation([product])), cursor: "1")
    service.send(.promoted(Payment(productIdentifier: product)), cursor: "2")
    service.send(.storefrontChanged(Storefront(countryCode: "SWE", identifier: "2")))
    // The revocation was handled before the storefront.
    await waitUntil { first.storefront?.countryCode == "SWE" }
    #expect(try first.engine.journal.readQueue().storeCursor == nil)
    let observer = RecordingObserver(of: first)
    await observer.wait {
      $0.revoked.count == 1 && $0.promoted.count == 1 && $0.restoreEnds.count == 1
    }
    #expect(observer.log.transactions.values.map(\.transactionState) == [.restored])
    try await waitUntil { try first.engine.journal.readQueue().storeCursor == "2" }
    first.close()

    // Without an observer, the event does not count as handled.
    let other = ScriptedService()
    let second = try fixture.queue { $0.service = other }
    other.send(.revoked(Revocation([product])), cursor: "3")
    other.send(.storefrontChanged(Storefront(countryCode: "SWE", identifier: "2")))
    await waitUntil { second.storefront?.countryCode == "SWE" }
    second.close()
    #expect(try second.engine.journal.readQueue().storeCursor == "2")
  }

  @Test("A promoted payment of an unknown product is an error, also for the first observer")
  func unknownPromotion() async throws {
    let queue = try queue()
    service.send(.promoted(Payment(productIdentifier: "b")), cursor: "1")
    await waitUntil { service.lookups == 1 }
    let observer = RecordingObserver(of: queue)
    await observer.wait { !$0.errors.isEmpty }
    #expect(observer.log.errors.map(\.code) == [.productUnknown])
    try await waitUntil { try queue.engine.journal.readQueue().storeCursor == "1" }
    queue.close()
  }

  @Test("A new storefront is reported, and the delegate can stop purchases in it")
  func storefront() async throws {
    let fixture = try StoreFixture()
    let queue = try fixture.queue { $0.service = Relay(others: service) }
    let delegate = Refuser()
    queue.delegate = delegate
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.transactionStates[id]?.last == .purchasing }
    service.send(.storefrontChanged(Storefront(countryCode: "SWE", identifier: "2")))
    await observer.wait { $0.transactionStates[id]?.last == .failed }
    #expect(observer.log.storefronts == ["SWE"])
    #expect(queue.storefront?.countryCode == "SWE")
    #expect(observer.log.transactions[id]?.error?.code == .storefrontRefused)
    queue.close()
    #expect(!queue.canMakePayments)
  }

  @Test("A purchase that the delegate stops too late is delivered as another transaction")
  func soldMeanwhile() async throws {
    let mayAnswer = Watched(false)
    let other = AnsweringService { id in
      await mayAnswer.wait { $0 }
      return .purchased(self.grant(id.rawValue), contents: [])
    }
    let queue = try fixture.queue { $0.service = Relay(purchases: other, others: service) }
    let delegate = Refuser()
    queue.delegate = delegate
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.transactionStates[id]?.last == .purchasing }
    service.send(.storefrontChanged(Storefront(countryCode: "SWE", identifier: "2")))
    await observer.wait { $0.transactionStates[id]?.last == .failed }
    mayAnswer.change { $0 = true }
    await observer.wait { $0.transactions.count == 2 }
    let delivered = try #require(observer.log.transactions.values.first { $0.id != id })
    #expect(delivered.transactionState == .purchased)
    #expect(delivered.transactionIdentifier == id.rawValue)
    #expect(observer.log.transactionStates[id] == [.purchasing, .failed])

    queue.finishTransaction(delivered)
    await observer.wait { $0.removed == [delivered.id] }
    let outcome = PurchaseOutcome.purchased(grant(id.rawValue), contents: [])
    service.send(.answered(transaction: id, outcome))
    service.send(.revoked(Revocation([product])))
    await observer.wait { !$0.revoked.isEmpty }
    // The first one is added after the answer, the second one after what the answer has added.
    for _ in 0..<2 {
      let later = queue.add(Payment(productIdentifier: product))
      await observer.wait { $0.transactions[later] != nil }
    }
    #expect(observer.log.transactions.count == 4, "it is delivered once")
    queue.close()
  }

  @Test("A purchase that the delegate stops before it is sent to the service is not sold")
  func stoppedBeforeSent() async throws {
    let mayAnswer = Watched(false)
    let other = AnsweringService { id in
      await mayAnswer.wait { $0 }
      return .purchased(self.grant(id.rawValue), contents: [])
    }
    // With batches, orders wait during a call.
    let queue = try fixture.queue {
      $0.service = Relay(purchases: other, others: service, maximumBatchSize: 2)
    }
    let delegate = Refuser()
    queue.delegate = delegate
    let observer = RecordingObserver(of: queue)
    let first = queue.add(Payment(productIdentifier: product))
    await waitUntil { other.asked == [first] }
    let second = queue.add(Payment(productIdentifier: product))
    let third = queue.add(Payment(productIdentifier: product))
    // The second order is passed on before the third payment is reported.
    await observer.wait { $0.transactions[third] != nil }
    service.send(.storefrontChanged(Storefront(countryCode: "SWE", identifier: "2")))
    await observer.wait { $0.transactionStates[second]?.last == .failed }
    mayAnswer.change { $0 = true }
    let later = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.transactionStates[later]?.last == .purchased }
    #expect(!other.asked.contains(second))
    queue.close()
  }
}

/// Refuses every change of storefront.
final class Refuser: PaymentQueueDelegate {
  func paymentQueue(
    _ queue: PaymentQueue, shouldContinue transaction: PaymentTransaction,
    in storefront: Storefront
  ) -> Bool { false }
}

/// Purchases from one service, everything else from another.
private struct Relay: PartialService {
  var purchases: any StoreService = SilentService()
  let others: ScriptedService
  var maximumBatchSize = 1

  var base: any StoreService { others }

  func purchase(_ orders: [PurchaseOrder]) async throws -> [PurchaseOutcome] {
    try await purchases.purchase(orders)
  }

  func events(after cursor: String?) -> AsyncStream<StoreEventRecord> {
    others.events(after: cursor)
  }
}
