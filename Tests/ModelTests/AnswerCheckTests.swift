import FoundationEssentials
@testable import HostedModel
import Testing

/// Checks of a service's response by the queue itself.
@Suite("Responses that do not match")
struct AnswerCheckTests {
  private func ordered(_ payment: Payment) -> QueueState {
    QueueState(transactions: [
      TransactionRecord(id: "t", sequence: 1, payment: payment, status: .purchasing)
    ])
  }

  private func order() throws -> Payment {
    Payment(
      productIdentifier: ProductIdentifier("a"), quantity: 2, applicationUsername: "ann",
      simulatesAskToBuy: true)
  }

  @Test func `a grant for another product, quantity or account fails the order`() throws {
    let order = try order()
    var others = [order, order, order]
    others[0].productIdentifier = ProductIdentifier("b")
    others[1].quantity = 3
    others[2].applicationUsername = nil
    for other in others {
      var queue = ordered(order)
      let grant = Grant(
        transactionIdentifier: "g", date: Date(timeIntervalSince1970: 0), payment: other)
      let decision = queue.apply(
        .purchaseAnswered(
          transaction: "t", .purchased(grant, contents: [try Sample.offer()])))
      let record = try #require(queue.transaction("t"))
      #expect(record.state == .failed)
      #expect(record.error?.code == .answerMismatch)
      #expect(record.error?.subject == "a")
      #expect(record.grant == nil && record.downloads.isEmpty)
      #expect(decision.changes == [.save(record)])
    }
  }

  @Test func `the account of a response is compared byte by byte`() throws {
    var order = try order()
    order.applicationUsername = "ren\u{e9}"
    var answer = order
    answer.applicationUsername = "rene\u{301}"
    #expect(answer != order)
    #expect(!answer.answers(order) && order.answers(order))
    #expect(answer.difference(from: order).hasSuffix("for another account"))
  }

  @Test func `the response to an order uses up its number, a grant without an order does not`()
    throws
  {
    let order = try order()
    var queue = ordered(order)
    // The service's grant does not have the simulation flag.
    var payment = order
    payment.simulatesAskToBuy = false
    let grant = Grant(
      transactionIdentifier: "g", date: Date(timeIntervalSince1970: 0), payment: payment)
    let answered = queue.apply(
      .purchaseAnswered(transaction: "t", .purchased(grant, contents: [])))
    #expect(queue.transaction("t")?.state == .purchased)
    #expect(answered.changes.first == .answer(number: "g", transaction: "t"))
    for event in [
      QueueEvent.granted(
        transaction: "u",
        Grant(transactionIdentifier: "h", date: Date(timeIntervalSince1970: 0), payment: order),
        contents: []),
      .restored(transaction: "v", original: grant, contents: [], purpose: .update(switching: true)),
    ] {
      let decision = queue.apply(event)
      #expect(decision.changes.count == 1)
      guard case .add = decision.changes.first else {
        Issue.record("\(decision.changes)")
        return
      }
    }
  }

  @Test func `another product's content fails, and is retried only by its name`() throws {
    let payment = Payment(productIdentifier: ProductIdentifier("a"))
    var queue = ordered(payment)
    _ = queue.apply(.launched)
    let grant = Grant(
      transactionIdentifier: "g", date: Date(timeIntervalSince1970: 0), payment: payment)
    let foreign = try Sample.offer("b")
    _ = queue.apply(
      .purchaseAnswered(
        transaction: "t", .purchased(grant, contents: [try Sample.offer(), foreign])))
    #expect(queue.download("t-1")?.state == .waiting)
    let unresolved = try #require(queue.download("t-2"))
    #expect(unresolved.state == .failed)
    #expect(unresolved.error?.code == .answerMismatch)
    #expect(unresolved.offer.problem == unresolved.error)
    #expect(unresolved.offer.package.path.isEmpty && unresolved.offer.package.length == 0)
    #expect(unresolved.offer.productIdentifier == payment.productIdentifier)
    #expect(unresolved.offer.contentIdentifier == foreign.contentIdentifier)
    // After a restart it has no error, and its offer still has no files.
    _ = queue.apply(.startRequested(downloads: ["t-2"]))
    #expect(queue.download("t-2")?.state == .active)
    #expect(queue.download("t-2")?.error == nil)
    #expect(queue.download("t-2")?.offer.problem != nil)
    // A resolved offer is saved and reported; an offer with files does not change.
    let found = try Sample.offer("a", version: "2.0")
    let decision = queue.apply(.contentResolved(download: "t-2", found))
    #expect(queue.download("t-2")?.offer == found)
    #expect(decision.changes == [.save(try #require(queue.transaction("t")))])
    #expect(decision.effects == [.reportDownloads(["t-2"], of: queue.transactions)])
    #expect(queue.apply(.contentResolved(download: "t-1", found)) == QueueDecision())
    #expect(queue.apply(.contentResolved(download: "x", found)) == QueueDecision())
  }
}
