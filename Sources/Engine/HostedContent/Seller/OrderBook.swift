import HostedSelling
import HostedModel
import Dispatch

/// Schedules purchase orders and detects late calls; without clock and tasks.
///
/// A few workers make the calls. A late call does not count, so another worker replaces its worker.
/// Orders of one transaction are never in progress at the same time.
struct OrderBook {
  /// The maximum number of orders in a call, so that the first does not wait long for its outcome.
  private let groupLimit: Int
  private let workerLimit: Int
  private let timeout: DispatchTimeInterval

  private var waiting: ArraySlice<PurchaseOrder> = []
  private var calls: [Int: Call] = [:]
  private var lastCall = 0
  /// Transactions with a call in progress.
  private var transactions: Set<String> = []
  /// The number of workers whose calls are not late.
  private var workers = 0

  private struct Call {
    /// The subjects of its error if it is late: for a worker, the transactions of its orders.
    let subjects: [String]
    let isOfWorker: Bool
    var deadline: DispatchTime
    var isLate = false
  }

  /// With batches there is one worker, so that orders that arrive meanwhile form a batch.
  init(batchSize: Int, timeout: DispatchTimeInterval) {
    groupLimit = min(max(1, batchSize), 64)
    workerLimit = groupLimit > 1 ? 1 : 64
    self.timeout = timeout
  }

  /// When the next call becomes late; nil if none can.
  var nextDeadline: DispatchTime? {
    calls.values.lazy.filter { !$0.isLate }.map(\.deadline).min()
  }

  /// Adds an order; returns whether a worker must be started.
  mutating func add(_ order: PurchaseOrder) -> Bool {
    waiting.append(order)
    return addWorker()
  }

  /// Removes the order of `transaction`, unless the seller has it or may have it.
  mutating func withdraw(_ transaction: TransactionID) {
    waiting.removeAll { $0.transaction == transaction && !$0.isRepeated }
  }

  /// Returns the next call of a worker, or nil if the worker must end.
  mutating func nextCall(at now: DispatchTime) -> (number: Int, orders: [PurchaseOrder])? {
    var (orders, postponed): ([PurchaseOrder], [PurchaseOrder]) = ([], [])
    while orders.count < groupLimit, let order = waiting.popFirst() {
      if transactions.insert(order.transaction.rawValue).inserted {
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
    return (begin(orders.map(\.transaction.rawValue), isOfWorker: true, at: now), orders)
  }

  /// Starts a call without a worker, such as a restore; returns its number.
  mutating func beginCall(_ subject: String, at now: DispatchTime) -> Int {
    begin([subject], isOfWorker: false, at: now)
  }

  private mutating func begin(
    _ subjects: [String], isOfWorker: Bool, at now: DispatchTime
  ) -> Int {
    lastCall += 1
    calls[lastCall] = Call(subjects: subjects, isOfWorker: isOfWorker, deadline: now + timeout)
    return lastCall
  }

  /// Resets the timeout of a call that makes progress.
  mutating func touch(_ call: Int, at now: DispatchTime) {
    calls[call]?.deadline = now + timeout
  }

  /// Ends a call; returns whether its worker continues.
  mutating func end(_ call: Int) -> Bool {
    guard let call = calls.removeValue(forKey: call), call.isOfWorker else { return false }
    transactions.subtract(call.subjects)
    return !call.isLate || addWorker()
  }

  /// Returns the subjects of calls that became late, and how many workers to start instead.
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
