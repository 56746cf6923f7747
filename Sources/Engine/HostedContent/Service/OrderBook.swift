import HostedSelling
import HostedModel
import HostedTransfer
import Dispatch

/// Schedules purchase orders and detects late calls; without clock and tasks.
///
/// A few workers make the calls. A late call does not count, so another worker replaces its worker.
/// Orders of one transaction are never in progress at the same time. An order without an outcome is
/// sent again later.
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
  /// Undecided orders, and when each is sent again.
  private var postponed: [(order: PurchaseOrder, time: DispatchTime)] = []
  /// The number of calls in a row without an outcome, by transaction.
  private var failures: [TransactionID: Int] = [:]
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

  /// When the next call becomes late, or the next order is sent again; nil if none is.
  var nextDeadline: DispatchTime? {
    let late = calls.values.lazy.filter { !$0.isLate }.map(\.deadline).min()
    return [late, postponed.lazy.map(\.time).min()].compactMap(\.self).min()
  }

  /// Adds an order; returns whether a worker must be started.
  mutating func add(_ order: PurchaseOrder) -> Bool {
    waiting.append(order)
    return addWorker()
  }

  /// Removes the order of `transaction`, unless the service has it or may have it.
  mutating func withdraw(_ transaction: TransactionID) {
    waiting.removeAll { $0.transaction == transaction && !$0.isRepeated }
  }

  /// When an undecided order or a failed notice is sent again.
  static let retryPolicy = RetryPolicy(firstDelay: 1, longestDelay: 256)

  /// Sends an undecided order again later; returns whether its first call had no outcome.
  ///
  /// `random` is from 0 to 1.
  mutating func postpone(_ order: PurchaseOrder, at now: DispatchTime, random: Double) -> Bool {
    let count = failures[order.transaction, default: 0] + 1
    failures[order.transaction] = count
    let delay = Self.retryPolicy.delay(afterFailure: count, retryAfter: nil, random: random)
    let repeated = PurchaseOrder(
      payment: order.payment, transaction: order.transaction, isRepeated: true)
    postponed.append((repeated, now + delay))
    return count == 1
  }

  /// Notes that an order has an outcome.
  mutating func settle(_ transaction: TransactionID) { failures[transaction] = nil }

  /// Returns how many workers to start for the undecided orders that are due.
  mutating func resume(by now: DispatchTime) -> Int {
    let due = postponed.filter { $0.time <= now }
    postponed.removeAll { $0.time <= now }
    waiting += due.map(\.order)
    return addWorkers()
  }

  /// Returns the next call of a worker, or nil if the worker must end.
  mutating func nextCall(at now: DispatchTime) -> (number: Int, orders: [PurchaseOrder])? {
    var (orders, blocked): ([PurchaseOrder], [PurchaseOrder]) = ([], [])
    while orders.count < groupLimit, let order = waiting.popFirst() {
      if transactions.insert(order.transaction.rawValue).inserted {
        orders.append(order)
      } else {
        blocked.append(order)
      }
    }
    if !blocked.isEmpty { waiting = blocked + waiting }
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
    var subjects: [String] = []
    for (number, call) in calls.sorted(by: { $0.key < $1.key })
    where !call.isLate && call.deadline <= now {
      calls[number]?.isLate = true
      subjects += call.subjects
      if call.isOfWorker { workers -= 1 }
    }
    return (subjects, addWorkers())
  }

  /// Returns how many workers to start for the orders that wait.
  private mutating func addWorkers() -> Int {
    var count = 0
    while count < waiting.count, addWorker() { count += 1 }
    return count
  }

  private mutating func addWorker() -> Bool {
    guard !waiting.isEmpty, workers < workerLimit else { return false }
    workers += 1
    return true
  }
}
