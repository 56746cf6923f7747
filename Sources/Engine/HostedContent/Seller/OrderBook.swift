import ContentModel
import Dispatch

/// Which orders are asked for next, and which calls take too long; no clock, no tasks.
///
/// A few workers make the calls. A call that is late does not count, so that another worker takes
/// its place. Orders of one transaction are never asked for at the same time.
struct OrderBook {
  /// Orders that one call asks for at most, so that the first answer does not wait long.
  private let groupLimit: Int
  private let workerLimit: Int
  private let timeout: DispatchTimeInterval

  private var waiting: ArraySlice<PurchaseOrder> = []
  private var calls: [Int: Call] = [:]
  private var lastCall = 0
  /// Transactions that a call is in progress for.
  private var transactions: Set<TransactionID> = []
  /// Workers whose calls are not late.
  private var workers = 0

  private struct Call {
    let orders: [PurchaseOrder]
    /// What it is named by when it is late.
    let subjects: [String]
    let isOfWorker: Bool
    var deadline: DispatchTime
    var isLate = false
  }

  /// A service that takes batches has one worker, so that orders which come meanwhile form a batch.
  init(batchSize: Int, timeout: DispatchTimeInterval) {
    groupLimit = min(max(1, batchSize), 64)
    workerLimit = groupLimit > 1 ? 1 : 64
    self.timeout = timeout
  }

  /// When the first call will be late; nil if there is no call that can be.
  var nextDeadline: DispatchTime? {
    calls.values.lazy.filter { !$0.isLate }.map(\.deadline).min()
  }

  /// Takes an order; whether a worker must be started for it.
  mutating func add(_ order: PurchaseOrder) -> Bool {
    waiting.append(order)
    return addWorker()
  }

  /// The next call of a worker, which ends when it gets nil.
  mutating func nextCall(at now: DispatchTime) -> (number: Int, orders: [PurchaseOrder])? {
    var (orders, postponed): ([PurchaseOrder], [PurchaseOrder]) = ([], [])
    while orders.count < groupLimit, let order = waiting.popFirst() {
      if transactions.insert(order.transaction).inserted {
        orders.append(order)
      } else {
        postponed.append(order)
      }
    }
    if !postponed.isEmpty { waiting = postponed + waiting }
    guard !orders.isEmpty else {
      workers -= 1
      return nil
    }
    return (
      begin(orders, subjects: orders.map(\.transaction.rawValue), isOfWorker: true, at: now), orders
    )
  }

  /// Notes a call that no worker makes, such as a restore; returns its number.
  mutating func beginCall(_ subject: String, at now: DispatchTime) -> Int {
    begin([], subjects: [subject], isOfWorker: false, at: now)
  }

  private mutating func begin(
    _ orders: [PurchaseOrder], subjects: [String], isOfWorker: Bool, at now: DispatchTime
  ) -> Int {
    lastCall += 1
    calls[lastCall] = Call(
      orders: orders, subjects: subjects, isOfWorker: isOfWorker, deadline: now + timeout)
    return lastCall
  }

  /// Notes that a call goes on: its time begins anew.
  mutating func touch(_ call: Int, at now: DispatchTime) {
    calls[call]?.deadline = now + timeout
  }

  /// Notes that a call has returned; whether its worker goes on.
  mutating func end(_ call: Int) -> Bool {
    guard let call = calls.removeValue(forKey: call) else { return false }
    transactions.subtract(call.orders.map(\.transaction))
    guard call.isOfWorker else { return false }
    return !call.isLate || addWorker()
  }

  /// Calls that are late by `now`, by what they are named by, and how many workers take their
  /// places.
  mutating func late(by now: DispatchTime) -> (subjects: [String], newWorkers: Int) {
    var (subjects, newWorkers): ([String], Int) = ([], 0)
    for (number, call) in calls.sorted(by: { $0.key < $1.key })
    where !call.isLate && call.deadline <= now {
      calls[number]?.isLate = true
      subjects += call.subjects
      if call.isOfWorker { workers -= 1 }
    }
    while newWorkers < waiting.count, addWorker() { newWorkers += 1 }
    return (subjects, newWorkers)
  }

  private mutating func addWorker() -> Bool {
    guard !waiting.isEmpty, workers < workerLimit else { return false }
    workers += 1
    return true
  }
}
