import ContentModel
import Dispatch
import Synchronization

/// Keeps the handles of a queue, and tells its observers, on the delivery queue only.
///
/// Reports are values that the engine hands over in order; a handle changes just before the
/// observers hear of it. Observers are held weakly and called without a lock.
final class Delivery: Sendable {
  private let target: DispatchQueue
  private let productsPath: String
  private let state: Mutex<State>

  private struct State {
    /// Unfinished transactions by identifier.
    var reports: [String: TransactionReport]

    /// Handles in the queue's order.
    var transactions: [PaymentTransaction] {
      reports.values.map { ($0.record.sequence, $0) }.sorted { $0.0 < $1.0 }
        .map { PaymentTransaction(report: $1) }
    }

    /// Progress that waits for the delivery queue, a batch a call.
    var waitingProgress: [[String: DownloadProgress]] = []
    /// Whether the last batch may take newer progress: nothing was handed over after it.
    var takesProgress = false
    var observers: [WeakObserver] = []
    var hasBeenObserved = false
    weak var queue: PaymentQueue?
  }

  private struct WeakObserver {
    weak var observer: (any PaymentTransactionObserver)?
  }

  init(on target: DispatchQueue, productsPath: String, transactions: [TransactionRecord]) {
    self.target = target
    self.productsPath = productsPath
    let reports = transactions.map { ($0.id, TransactionReport($0, productsPath: productsPath)) }
    state = Mutex(State(reports: Dictionary(reports) { first, _ in first }))
  }

  /// Names the queue that observers are told about; once, before anything is delivered.
  func attach(to queue: PaymentQueue) { state.withLock { $0.queue = queue } }

  /// Handles to the unfinished transactions, as reported last.
  var transactions: [PaymentTransaction] {
    state.withLock { $0.transactions }
  }

  // MARK: Observers

  /// Adds `observer` unless it is there; true for the first observer ever.
  ///
  /// A later one is told at once what is unfinished; the first learns it from the launch.
  func add(_ observer: any PaymentTransactionObserver) -> Bool {
    let (isNew, isFirst) = state.withLock { state in
      state.observers.removeAll { $0.observer == nil }
      guard !state.observers.contains(where: { $0.observer === observer }) else {
        return (false, false)
      }
      state.observers.append(WeakObserver(observer: observer))
      defer { state.hasBeenObserved = true }
      return (true, !state.hasBeenObserved)
    }
    if isNew, !isFirst { target.async { self.tellWhatIsUnfinished(observer) } }
    return isFirst
  }

  func remove(_ observer: any PaymentTransactionObserver) {
    state.withLock { state in
      state.observers.removeAll { $0.observer == nil || $0.observer === observer }
    }
  }

  private func tellWhatIsUnfinished(_ observer: any PaymentTransactionObserver) {
    let (queue, transactions, stillThere) = state.withLock { state in
      (
        state.queue, state.transactions,
        state.observers.contains { $0.observer === observer }
      )
    }
    guard let queue, stillThere, !transactions.isEmpty else { return }
    observer.paymentQueue(queue, updatedTransactions: transactions)
    let downloads = transactions.flatMap(\.downloads)
    if !downloads.isEmpty { observer.paymentQueue(queue, updatedDownloads: downloads) }
  }

  private func tell(_ body: (PaymentQueue, any PaymentTransactionObserver) -> Void) {
    let (queue, observers) = state.withLock { ($0.queue, $0.observers.compactMap(\.observer)) }
    guard let queue else { return }
    // One that another observer has just removed is not told any more.
    for observer in observers where isThere(observer) { body(queue, observer) }
  }

  private func isThere(_ observer: any PaymentTransactionObserver) -> Bool {
    state.withLock { $0.observers.contains { $0.observer === observer } }
  }

  // MARK: Reports

  /// Hands a report over, behind all that were before it.
  private func deliver(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.takesProgress = false }
    target.async(execute: body)
  }

  /// Reports transactions that were added or changed state.
  func report(transactions records: [TransactionRecord]) {
    deliver {
      let handles = records.map { PaymentTransaction(report: self.updated($0)) }
      self.tell { $1.paymentQueue($0, updatedTransactions: handles) }
    }
  }

  /// Reports the downloads named `ids` of transactions that stand as `records` say.
  func report(downloads ids: [String], of records: [TransactionRecord]) {
    deliver {
      let known = records.flatMap { PaymentTransaction(report: self.updated($0)).downloads }
      let wanted = Set(ids)
      let downloads = known.filter { wanted.contains($0.id) }
      if !downloads.isEmpty { self.tell { $1.paymentQueue($0, updatedDownloads: downloads) } }
    }
  }

  /// Reports how far downloads are; those whose transactions are gone are passed over.
  ///
  /// While an observer blocks, newer progress takes the place of what waits, so that nothing piles
  /// up before the reports that follow; it never moves before a report that was handed over.
  func report(progress: [String: DownloadProgress]) {
    let isMerged = state.withLock { state in
      if state.takesProgress, let last = state.waitingProgress.popLast() {
        state.waitingProgress.append(last.merging(progress) { $1 })
        return true
      }
      state.waitingProgress.append(progress)
      state.takesProgress = true
      return false
    }
    guard !isMerged else { return }
    target.async {
      let progress = self.state.withLock { state in
        let batch = state.waitingProgress.removeFirst()
        if state.waitingProgress.isEmpty { state.takesProgress = false }
        return batch
      }
      var moved: [Download] = []
      for transaction in self.transactions {
        for download in transaction.downloads {
          guard let progress = progress[download.id] else { continue }
          transaction.report.update(progress, of: download.id)
          if download.state == .active { moved.append(download) }
        }
      }
      if !moved.isEmpty { self.tell { $1.paymentQueue($0, updatedDownloads: moved) } }
    }
  }

  /// Reports transactions that were finished.
  func report(removed records: [TransactionRecord]) {
    deliver {
      let handles = records.map { PaymentTransaction(report: self.updated($0)) }
      self.state.withLock { state in records.forEach { state.reports[$0.id] = nil } }
      self.tell { $1.paymentQueue($0, removedTransactions: handles) }
    }
  }

  /// Reports something that could not be done.
  func report(error: ContentError) {
    deliver { self.tell { $1.paymentQueue($0, didFailWith: error) } }
  }

  /// The handle's storage for `record`, brought to what the record says.
  private func updated(_ record: TransactionRecord) -> TransactionReport {
    let report = state.withLock { state in
      if let known = state.reports[record.id] { return known }
      let new = TransactionReport(record, productsPath: productsPath)
      state.reports[record.id] = new
      return new
    }
    report.update(record)
    return report
  }
}
