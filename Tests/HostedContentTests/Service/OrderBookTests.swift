import HostedModel
import Dispatch
import Testing

@testable import HostedContent

@Suite("Scheduling of orders")
struct OrderBookTests {
  private let start = DispatchTime.now()

  /// An order book whose calls have numbers in order.
  private final class Book {
    private var book: OrderBook
    private let start: DispatchTime
    private var calls: [Int] = []

    init(isOfGroups: Bool, _ start: DispatchTime) {
      self.start = start
      book = OrderBook(batchSize: isOfGroups ? 64 : 1, timeout: .seconds(60))
    }

    func add(_ transaction: String, isRepeated: Bool = false) throws -> Bool {
      book.add(
        PurchaseOrder(
          payment: Payment(productIdentifier: "a"),
          transaction: TransactionID(rawValue: transaction), isRepeated: isRepeated))
    }

    func withdraw(_ transaction: String) { book.withdraw(TransactionID(rawValue: transaction)) }

    /// Returns the transactions of the next call.
    func next() -> [String]? {
      guard let call = book.nextCall(at: start) else { return nil }
      calls.append(call.number)
      return call.orders.map(\.transaction.rawValue)
    }

    func restore() { calls.append(book.beginCall("restore", at: start)) }
    func touch(_ call: Int, after seconds: Int) {
      book.touch(calls[call], at: start + .seconds(seconds))
    }
    func end(_ call: Int) -> Bool { book.end(calls[call]) }
    func late(after seconds: Int) -> (subjects: [String], newWorkers: Int) {
      book.late(by: start + .seconds(seconds))
    }
    var nextDeadline: DispatchTime? { book.nextDeadline }

    /// Notes that a call had no outcome for a transaction; its delay is the longest possible.
    func postpone(_ transaction: String, after seconds: Int) -> Bool {
      book.postpone(
        PurchaseOrder(
          payment: Payment(productIdentifier: "a"),
          transaction: TransactionID(rawValue: transaction)),
        at: start + .seconds(seconds), random: 1)
    }
    func settle(_ transaction: String) { book.settle(TransactionID(rawValue: transaction)) }
    func resume(after seconds: Int) -> Int { book.resume(by: start + .seconds(seconds)) }
  }

  @Test func `each order has its own call, as many at once as there are workers`() throws {
    let book = Book(isOfGroups: false, start)
    let started = try (0..<100).filter { try book.add("\($0)") }
    #expect(started.count == 64)
    for number in started { #expect(book.next() == ["\(number)"]) }
    // A call that returned makes room for the next order.
    #expect(book.end(0))
    #expect(book.next() == ["64"])
    #expect(book.nextDeadline == start + .seconds(60))
    // So does a late call.
    let late = book.late(after: 60)
    #expect(late.subjects.count == 64)
    #expect(late.newWorkers == 35)
    #expect(book.late(after: 600).subjects.isEmpty, "each is reported once")
    #expect(book.nextDeadline == nil)
  }

  @Test(arguments: [true, false])
  func `two orders of one transaction are not sent at the same time`(isOfGroups: Bool) throws {
    let book = Book(isOfGroups: isOfGroups, start)
    _ = try (book.add("t"), book.add("t"))
    #expect(book.next() == ["t"])
    if !isOfGroups { #expect(book.next() == nil) }
    // The late call is still in progress.
    #expect(book.late(after: 60).newWorkers == 1)
    #expect(book.next() == nil)
    #expect(book.end(0))
    #expect(book.next() == ["t"])
  }

  @Test func `an order is withdrawn unless the service may have it`() throws {
    let book = Book(isOfGroups: true, start)
    _ = try book.add("sent")
    #expect(book.next() == ["sent"])
    for (transaction, isRepeated) in [("stopped", false), ("repeated", true)] {
      _ = try book.add(transaction, isRepeated: isRepeated)
    }
    for transaction in ["sent", "stopped", "repeated"] { book.withdraw(transaction) }
    #expect(book.end(0))
    #expect(book.next() == ["repeated"])
    #expect(book.end(1))
    #expect(book.next() == nil)
  }

  @Test func `a service with batches gets one call at a time, with all waiting orders`() throws {
    let book = Book(isOfGroups: true, start)
    let started = try (0..<100).filter { try book.add("\($0)") }
    #expect(started.count == 1)
    #expect(book.next()?.count == 64)
    #expect(book.end(0))
    #expect(book.next()?.count == 36)
  }

  @Test func `a call with progress is not late, and a late call without worker is only reported`() {
    let book = Book(isOfGroups: false, start)
    book.restore()
    book.touch(0, after: 50)
    #expect(book.late(after: 60).subjects.isEmpty)
    #expect(book.late(after: 110).subjects == ["restore"])
    #expect(!book.end(0))
  }

  @Test func `an undecided order is sent again after 1 to 256 seconds, also if withdrawn`() throws {
    let book = Book(isOfGroups: false, start)
    _ = try book.add("a")
    #expect(book.next() == ["a"])
    #expect(book.postpone("a", after: 0), "its first failure")
    #expect(book.end(0))
    #expect(book.next() == nil)
    #expect(book.nextDeadline == start + .seconds(1))
    book.withdraw("a")
    #expect(book.resume(after: 0) == 0)
    var now = 0
    for failure in 1..<12 {
      now += min(256, 1 << (failure - 1))
      #expect(book.nextDeadline == start + .seconds(now))
      #expect(book.resume(after: now) == 1)
      #expect(book.next() == ["a"])
      #expect(!book.postpone("a", after: now))
      #expect(book.end(failure))
      #expect(book.next() == nil)
    }
    book.settle("a")
    #expect(book.postpone("a", after: now), "after an outcome, another failure is reported")
  }
}
