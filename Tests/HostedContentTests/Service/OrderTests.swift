import HostedModel
import HostedTrust
import Foundation
import HostedConcurrency
import HostedTestSupport
import HostedTestTraits
import Testing

@testable import HostedContent

/// A response to a purchase must match its order.
@Suite("Responses and orders", .timeLimit(.hang))
struct OrderTests {
  private let fixture: StoreFixture
  private let service = ScriptedService()
  private let signing: SigningKey
  private let verifier: ReceiptVerifier
  private let a = ProductIdentifier("a")
  private let b = ProductIdentifier("b")

  init() throws {
    fixture = try StoreFixture()
    signing = try SigningKey.generate()
    verifier = ReceiptVerifier(keys: [try ReceiptVerificationKey(pem: signing.publicKey.pem)])
  }

  private func queue(verifying: Bool = false) throws -> PaymentQueue {
    try fixture.queue {
      $0.service = service
      if verifying { $0.receiptVerifier = verifier }
    }
  }

  /// Returns a grant of `payment` with a genuine receipt, optionally with another quantity or type.
  private func grant(
    _ number: String, _ payment: Payment, quantity: Int? = nil, type: String? = "receipt+jwt"
  ) throws -> Grant {
    var claims: [String: JSONValue] = [
      "transactionIdentifier": .string(number),
      "productIdentifier": .string(payment.productIdentifier.rawValue),
      "quantity": .integer(Int64(quantity ?? payment.quantity)), "purchaseDate": .integer(1),
    ]
    claims["accountToken"] = payment.applicationUsername.map { .string($0.rawValue) }
    var receipt = try JSONWebSignature.sign(.object(claims), as: type ?? "", with: signing)
    if type == nil { receipt = try untyped(.object(claims)) }
    return Grant(number, payment, receipt: receipt)
  }

  private func untyped(_ claims: JSONValue) throws -> String {
    let parts = [Array(#"{"alg":"EdDSA"}"#.utf8), claims.encoded].map(Base64URL.text)
    let message = parts.joined(separator: ".")
    return "\(message).\(Base64URL.text(of: try signing.sign(Array(message.utf8))))"
  }

  /// Adds a payment that gets `grant` as response; returns the result.
  private func buy(
    _ payment: Payment, _ grant: Grant?, contents: [ContentOffer] = [], _ queue: PaymentQueue
  ) async throws -> PaymentTransaction {
    if let grant {
      service.answer(payment.productIdentifier, .purchased(grant, contents: contents))
    }
    let observer = RecordingObserver(of: queue)
    let id = queue.add(payment)
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    return try #require(observer.log.transactions[id])
  }

  private func finish(_ transaction: PaymentTransaction, _ queue: PaymentQueue) async throws {
    try await queue.finish(transaction)
  }

  // MARK: Grants of something else

  @Test func `an old genuine receipt of another product never buys anything`()
    async throws
  {
    for name in ["a", "b"] { try fixture.publish(name, "1.0") }
    let looking = try fixture.queue { $0.library = URL(filePath: fixture.folder.path("looking")) }
    let contents = try #require(try await looking.products(["b"]).products.first).contents
    looking.close()
    let queue = try queue(verifying: true)
    let old = try grant("old", Payment(productIdentifier: a))
    for _ in 0..<2 {
      let order = Payment(productIdentifier: b, quantity: 10)
      let transaction = try await buy(order, old, contents: contents, queue)
      #expect(transaction.transactionState == .failed)
      #expect(transaction.error?.code == .answerMismatch)
      #expect(transaction.error?.subject == "b")
      #expect(transaction.downloads.isEmpty)
      #expect(try await transaction.transactionReceipt() == nil)
      try await finish(transaction, queue)
    }
  }

  /// Payments that each differ in one value from an order of two of `a` for ann.
  static let others = ["product", "quantity", "account", "no account"]

  @Test(arguments: others, [true, false])
  func `a grant of something other than the order fails the purchase`(
    difference: String, isVerifying: Bool
  ) async throws {
    let order = Payment(productIdentifier: a, quantity: 2, applicationUsername: "ann")
    var other = order
    switch difference {
    case "product": other.productIdentifier = b
    case "quantity": other.quantity = 1
    case "account": other.applicationUsername = "joe"
    default: other.applicationUsername = nil
    }
    let queue = try queue(verifying: isVerifying)
    let transaction = try await buy(order, grant("1", other), queue)
    #expect(transaction.transactionState == .failed)
    #expect(transaction.error?.code == .answerMismatch)
    // The correct response to the next order is accepted; the number was not used up.
    let next = try await buy(order, grant("1", order), queue)
    #expect(next.transactionState == .purchased)
  }

  @Test func `a deferred order with a grant of something else fails`() async throws {
    let queue = try queue()
    service.answer(a, .deferred)
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: a))
    await observer.wait { $0.transactionStates[id]?.last == .deferred }
    let other = try grant("1", Payment(productIdentifier: b))
    service.send(.answered(transaction: id, .purchased(other, contents: [])))
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    #expect(observer.log.transactions[id]?.error?.code == .answerMismatch)
  }

  @Test(arguments: ["quantity", "type", "no type"])
  func `a receipt that does not match the order fails the purchase`(difference: String)
    async throws
  {
    let order = Payment(productIdentifier: a, quantity: 2)
    let wrong =
      switch difference {
      case "quantity": try grant("1", order, quantity: 1)
      case "type": try grant("1", order, type: "JWT")
      default: try grant("1", order, type: nil)
      }
    let queue = try queue(verifying: true)
    let transaction = try await buy(order, wrong, queue)
    #expect(transaction.transactionState == .failed)
    #expect(transaction.error?.code == .receiptInvalid)
    // Media types are compared without regard to case, and may be written in full (RFC 7515,
    // 4.1.9).
    for type in ["receipt+jwt", "application/Receipt+JWT"] {
      let good = try grant(type, order, type: type)
      #expect(try await buy(order, good, queue).transactionState == .purchased)
    }
  }

  // MARK: One number, one order

  @Test(arguments: ["open", "finished", "restarted"])
  func `a number of one order is refused for another`(first: String) async throws {
    var queue = try queue(verifying: true)
    let order = Payment(productIdentifier: a)
    let grant = try grant("1", order)
    let bought = try await buy(order, grant, queue)
    #expect(bought.transactionState == .purchased)
    if first != "open" { try await finish(bought, queue) }
    if first == "restarted" {
      queue.close()
      queue = try self.queue(verifying: true)
    }
    let again = try await buy(order, grant, queue)
    #expect(again.transactionState == .failed)
    #expect(again.error?.code == .answerMismatch)
    // The failure is durable, so the next launch does not repeat the order.
    queue.close()
    let kept = try fixture.reader().transactions().first { $0.id == again.id }
    #expect(kept?.state == .failed)
    let later = try self.queue()
    #expect(try await buy(order, self.grant("2", order), later).transactionState == .purchased)
  }

  @Test(arguments: [true, false])
  func `a transaction's own identifier as number is refused for another order`(isFinished: Bool)
    async throws
  {
    let queue = try queue()
    let order = Payment(productIdentifier: a)
    // Without a configured outcome, the service responds with the transaction's identifier.
    let bought = try await buy(order, nil, queue)
    #expect(bought.transactionIdentifier == bought.id.rawValue)
    if isFinished { try await finish(bought, queue) }
    let again = try await buy(order, grant(bought.id.rawValue, order), queue)
    #expect(again.transactionState == .failed)
    #expect(again.error?.code == .answerMismatch)
  }

  @Test func `a number of another order is refused even for the transaction it names`()
    async throws
  {
    let queue = try queue()
    service.answer(b, .deferred)
    let observer = RecordingObserver(of: queue)
    let id = queue.add(Payment(productIdentifier: b))
    await observer.wait { $0.transactionStates[id]?.last == .deferred }
    let order = Payment(productIdentifier: a)
    #expect(try await buy(order, grant(id.rawValue, order), queue).transactionState == .purchased)
    let own = try grant(id.rawValue, Payment(productIdentifier: b))
    service.send(.answered(transaction: id, .purchased(own, contents: [])))
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    #expect(observer.log.transactions[id]?.error?.code == .answerMismatch)
  }

  @Test func `only one order of a batch gets the same number`() async throws {
    let group = GroupService(number: "1")
    let queue = try fixture.queue { $0.seller = { _ in group } }
    let ids = (0..<20).map { _ in queue.add(Payment(productIdentifier: a)) }
    let observer = RecordingObserver(of: queue)
    await observer.wait { log in ids.allSatisfy { log.transactionStates[$0] != nil } }
    group.mayAnswer.change { $0 = true }
    await observer.wait { log in
      ids.allSatisfy { [.purchased, .failed].contains(log.transactionStates[$0]?.last) }
    }
    let log = observer.log
    #expect(ids.filter { log.transactions[$0]?.transactionState == .purchased } == [ids[0]])
    #expect(ids.dropFirst().allSatisfy { log.transactions[$0]?.error?.code == .answerMismatch })
    // The journal works; the responses were wrong.
    #expect(log.errors.isEmpty)
    #expect(queue.statistics.journalFailures == 0)
    #expect(group.largest > 1)
  }

  @Test func `restores, updates and events may repeat a number`() async throws {
    try fixture.publish("a", "1.0")
    let queue = try fixture.queue { $0.service = service }
    let order = Payment(productIdentifier: a)
    let number = service.grant(a, "1")
    let bought = try await buy(order, number, queue)
    try await finish(bought, queue)
    for _ in 0..<2 {
      let restored = try await queue.restore()
      #expect(restored.map { $0.original?.transactionIdentifier } == ["1"])
      for transaction in restored { try await finish(transaction, queue) }
      let observer = RecordingObserver(of: queue)
      service.send(.granted(number, contents: []))
      await observer.wait { !$0.transactions.isEmpty }
      let granted = try #require(observer.log.transactions.values.first)
      #expect(granted.transactionState == .purchased)
      #expect(granted.transactionIdentifier == "1")
      try await finish(granted, queue)
    }
  }

  @Test(arguments: [true, false])
  func `the same order gets the same response again after a crash`(isBuiltIn: Bool) async throws {
    try fixture.publish("a", "1.0")
    let open = { try isBuiltIn ? self.fixture.queue() : self.queue(verifying: true) }
    let order = Payment(productIdentifier: a, quantity: 2)
    let answer = isBuiltIn ? nil : try grant("1", order)
    var queue = try open()
    let id = try await buy(order, answer, queue).id
    queue.close()
    // The state before the response was journaled.
    try fixture.editJournal {
      ($0.status, $0.downloads) = (.purchasing, [])
    }
    queue = try open()
    let observer = RecordingObserver(of: queue)
    await observer.wait { [.purchased, .failed].contains($0.transactionStates[id]?.last) }
    let transaction = try #require(observer.log.transactions[id])
    #expect(transaction.transactionState == .purchased, "\(transaction.error as Any)")
    #expect(transaction.transactionIdentifier == (isBuiltIn ? id.rawValue : "1"))
  }
}

/// A service that responds to all orders of a batch with one number.
private final class GroupService: PartialService {
  let maximumBatchSize = 64
  /// Until it is true, calls do not return, and later orders wait for the next batch.
  let mayAnswer = Watched(false)
  private let number: String
  private let size = Mutex(0)

  init(number: String) { self.number = number }

  /// The largest batch.
  var largest: Int { size.withLock { $0 } }

  func purchase(_ orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    size.withLock { $0 = max($0, orders.count) }
    await mayAnswer.wait { $0 }
    return orders.map { .purchased(Grant(number, $0.payment), contents: []) }
  }
}
