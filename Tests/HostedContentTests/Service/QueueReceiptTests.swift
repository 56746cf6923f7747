import HostedModel
import Foundation
import HostedContent
import HostedTestSupport
import HostedTestTraits
import Testing

@Suite("Receipts in the queue", .timeLimit(.hang))
struct QueueReceiptTests {
  private let fixture: StoreFixture
  private let product = ProductIdentifier("a")
  private let key: ReceiptSigningKey
  private let verifier: ReceiptVerifier

  init() throws {
    fixture = try StoreFixture()
    key = try ReceiptSigningKey.generate()
    verifier = ReceiptVerifier(keys: [key.verificationKey])
  }

  private func grant(_ id: String, receipt: String?) -> Grant {
    Grant(id, Payment(productIdentifier: product), receipt: receipt)
  }

  /// Returns a queue that verifies the receipts of `service`.
  private func queue(_ service: any StoreService) throws -> PaymentQueue {
    try fixture.queue {
      $0.service = service
      $0.receiptVerifier = verifier
    }
  }

  /// Returns a receipt for transaction `id` of `account`, by default as the seller signs it.
  private func receipt(
    _ id: String, account: AccountID? = nil, signedBy signer: ReceiptSigningKey? = nil
  ) throws -> String {
    try (signer ?? key).sign(
      Receipt(
        transactionIdentifier: id, productIdentifier: product, accountToken: account,
        purchaseDate: Date(timeIntervalSince1970: 1), signedDate: Date(timeIntervalSince1970: 1)))
  }

  @Test("A service with a key signs receipts, which are journaled and name the first purchase")
  func builtIn() async throws {
    try fixture.publish("a", "1.5")
    let ids = try await buyTwice()
    let queue = try fixture.queue { $0.receiptKey = key }
    let observer = RecordingObserver(of: queue)
    await observer.wait { log in ids.allSatisfy { log.transactions[$0] != nil } }
    for id in ids {
      let text = try #require(try await observer.log.transactions[id]?.transactionReceipt())
      let receipt = try verifier.verify(text, account: "ann")
      #expect(receipt.transactionIdentifier == id.rawValue)
      #expect(receipt.originalTransactionIdentifier == ids[0].rawValue)
      #expect(receipt.productIdentifier == product)
      #expect(receipt.contentVersion?.rawValue == "1.5")
      #expect(throws: ContentError.self) { try verifier.verify(text, account: "joe") }
    }
    for id in ids { queue.finishTransaction(try #require(observer.log.transactions[id])) }
    await observer.wait { $0.removed.count == 2 }
    queue.restoreCompletedTransactions(withApplicationUsername: "ann")
    await observer.wait { $0.restoreEnds.count == 1 }
    #expect(observer.log.restoreEnds == [nil])
    let restored = try #require(
      observer.log.transactions.values.first { $0.transactionState == .restored })
    let text = try #require(try await restored.transactionReceipt())
    #expect(try verifier.verify(text, account: "ann").transactionIdentifier == ids[0].rawValue)
  }

  /// Buys the product twice for one account and finishes nothing.
  private func buyTwice() async throws -> [TransactionID] {
    let queue = try fixture.queue { $0.receiptKey = key }
    let observer = RecordingObserver(of: queue)
    let ids = (0..<2).map { _ in
      queue.add(Payment(productIdentifier: product, applicationUsername: "ann"))
    }
    await observer.wait { log in ids.allSatisfy { log.transactionStates[$0]?.last == .purchased } }
    queue.close()
    return ids
  }

  @Test("Without a key, grants do not have receipts")
  func none() async throws {
    try fixture.publish("a", "1.0")
    let queue = try fixture.queue()
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    #expect(try await observer.log.transactions[id]?.transactionReceipt() == nil)
  }

  @Test(
    "A purchase with a missing, unknown or foreign receipt fails and is not journaled")
  func refused() async throws {
    let service = ScriptedService()
    let queue = try queue(service)
    let observer = RecordingObserver(of: queue)
    let strange = try receipt("T", signedBy: ReceiptSigningKey.generate())
    for bad in [nil, strange, try receipt("U"), try receipt("T", account: "joe"), "x"] {
      service.answer(product, .purchased(grant("T", receipt: bad), contents: []))
      let id = queue.add(Payment(productIdentifier: product))
      await observer.wait { $0.transactionStates[id]?.last == .failed }
      #expect(observer.log.transactions[id]?.error?.code == .receiptInvalid)
      #expect(try await observer.log.transactions[id]?.transactionReceipt() == nil)
    }
    let good = try receipt("T")
    service.answer(product, .purchased(grant("T", receipt: good), contents: []))
    let id = queue.add(Payment(productIdentifier: product))
    await observer.wait { $0.transactionStates[id]?.last == .purchased }
    #expect(try await observer.log.transactions[id]?.transactionReceipt() == good)
  }

  @Test("An unrequested grant with an invalid receipt is dropped and reported")
  func granted() async throws {
    let service = ScriptedService()
    let queue = try queue(service)
    let observer = RecordingObserver(of: queue)
    service.send(.granted(grant("T", receipt: nil), contents: []))
    service.send(.granted(grant("V", receipt: try receipt("V")), contents: []))
    await observer.wait { $0.transactions.count == 1 && !$0.errors.isEmpty }
    #expect(observer.log.transactions.values.map(\.transactionIdentifier) == ["V"])
    #expect(observer.log.errors.map(\.code) == [.receiptInvalid])
  }

  @Test("A restore delivers purchases with valid receipts, then ends with the error of another")
  func restore() async throws {
    try fixture.publish("a", "1.0")
    let queue = try queue(
      RestoringService([grant("bad", receipt: "x"), grant("T", receipt: try receipt("T"))]))
    let observer = RecordingObserver(of: queue)
    queue.restoreCompletedTransactions()
    await observer.wait { $0.restoreEnds.count == 1 }
    #expect(observer.log.restoreEnds.map { $0?.code } == [.receiptInvalid])
    #expect(observer.log.transactions.values.map { $0.original?.transactionIdentifier } == ["T"])
  }
}

/// A service that lists and restores the given purchases.
struct RestoringService: PartialService {
  let grants: [Grant]

  init(_ grants: [Grant]) { self.grants = grants }

  func grants(account: AccountID?) async throws -> [Grant] { grants }

  func restore(account: AccountID?) -> AsyncThrowingStream<RestoredPurchase, any Error> {
    AsyncThrowingStream { continuation in
      for grant in grants { continuation.yield(RestoredPurchase(original: grant, contents: [])) }
      continuation.finish()
    }
  }
}
