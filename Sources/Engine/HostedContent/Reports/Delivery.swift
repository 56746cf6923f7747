import Dispatch
import HostedConcurrency

/// Keeps the handles of a queue, and calls its observers on the delivery queue only.
///
/// The engine passes reports as values, in order. A handle changes just before the observers are
/// called. Observers are held weakly, called without a lock, and never called after `close()`
/// returns. Streams and waiting calls still receive earlier reports.
final class Delivery: Sendable {
  private let line: OutboxLine
  private let library: ReportLibrary
  private let omitsStopped: Bool
  private let list = ObserverList<any PaymentTransactionObserver>()
  /// Serves calls that wait for one transaction or restore.
  let router = ReportRouter()
  /// Running calls of user code.
  private let calls: ActivityGate
  /// Update sequences to wake when content is published.
  let publications = OpenStreams<Void>()
  private let streams = OpenStreams<QueueReport>()
  private let state: Mutex<State>

  private struct State {
    var reports: UnfinishedReports
    var hasBeenObserved = false
    /// Calls that wait for the launch; nil after it, and after the queue is closed.
    var waiting: [@Sendable () -> Void]? = []
    weak var delegate: (any PaymentQueueDelegate)?
    var storefront: Storefront?
  }

  /// `now` returns the time on the clock of `target`.
  init(
    on target: any SerialLine, now: @escaping @Sendable () -> DispatchTime,
    makeSignal: @escaping MakeThreadSignal = DispatchSemaphore.unsent, library: ReportLibrary,
    transactions: [TransactionRecord], omitsStopped: Bool = false
  ) {
    line = OutboxLine(on: target, now: now)
    (self.library, self.omitsStopped) = (library, omitsStopped)
    calls = ActivityGate(makeSignal)
    state = Mutex(State(reports: UnfinishedReports(transactions, in: library)))
  }

  /// Sets the queue that is passed to observers; called once, before any report.
  func attach(to queue: PaymentQueue) { library.queue = queue }

  /// Handles of the unfinished transactions, as last reported.
  var transactions: [PaymentTransaction] { state.withLock { $0.reports.transactions } }

  /// Returns the transaction `id`, or nil if its removal was reported.
  ///
  /// An observer that is added before this call receives all later reports about it.
  func transaction(_ id: TransactionID) -> PaymentTransaction? {
    state.withLock { $0.reports[id] }.map(PaymentTransaction.init)
  }

  // MARK: Observers

  /// Adds `observer` if it is new; returns true for the first observer ever.
  ///
  /// A later observer receives the unfinished transactions at once, the first with the launch.
  func add(_ observer: any PaymentTransactionObserver) -> Bool {
    guard list.add(observer) else { return false }
    let isFirst = beginObserving()
    if !isFirst { deliver { self.reportUnfinished(to: observer) } }
    return isFirst
  }

  /// Returns true for the first observer, stream or waiting call ever.
  func beginObserving() -> Bool {
    state.withLock { state in
      defer { state.hasBeenObserved = true }
      return !state.hasBeenObserved
    }
  }

  func remove(_ observer: any PaymentTransactionObserver) { list.remove(observer) }

  private func reportUnfinished(to observer: any PaymentTransactionObserver) {
    let transactions = transactions
    guard let queue = library.queue, !transactions.isEmpty else { return }
    func call(_ body: () -> Void) { if list.contains(observer) { calls.perform(body) } }
    call { observer.paymentQueue(queue, updatedTransactions: transactions) }
    let downloads = transactions.downloads(omittingStopped: omitsStopped)
    if !downloads.isEmpty { call { observer.paymentQueue(queue, updatedDownloads: downloads) } }
  }

  private func callObservers(_ body: (PaymentQueue, any PaymentTransactionObserver) -> Void) {
    guard let queue = library.queue else { return }
    list.forEach { observer in calls.perform { body(queue, observer) } }
  }

  /// Stops calling observers, and waits for a running call until `deadline` at most.
  ///
  /// Within such a call it returns at once.
  func close(until deadline: DispatchTime) {
    calls.close()
    calls.wait(until: deadline)
    // They retain this object. Released outside the lock.
    _ = takeWaiting()
  }

  var observers: [any PaymentTransactionObserver] { list.observers }

  var delegate: (any PaymentQueueDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  var storefront: Storefront? { state.withLock { $0.storefront } }

  // MARK: Streams

  /// Adds a stream until it ends; returns the same as `add` for observers.
  ///
  /// If the queue is closed, the stream ends at once.
  func add(_ stream: AsyncStream<QueueReport>.Continuation) -> Bool {
    guard streams.add(stream) else { return false }
    let isFirst = beginObserving()
    if !isFirst { deliver { self.reportUnfinished(to: stream) } }
    return isFirst
  }

  private func reportUnfinished(to stream: AsyncStream<QueueReport>.Continuation) {
    let transactions = transactions
    guard !transactions.isEmpty else { return }
    stream.yield(.transactions(transactions))
    let downloads = transactions.downloads(omittingStopped: omitsStopped)
    if !downloads.isEmpty { stream.yield(.downloads(downloads.map(DownloadUpdate.init))) }
  }

  /// Passes a report to streams and waiting calls.
  private func pass(_ report: QueueReport) {
    streams.yield(report)
    router.send(report)
  }

  /// Ends all streams and waiting calls, after all earlier reports.
  func endStreams() {
    router.close()
    streams.close()
    publications.finish()
    // Without streams and waiters, do not enqueue a block that would keep the journal open.
    guard !streams.isEmpty || router.hasWaiters else { return }
    deliver {
      self.router.finish()
      self.streams.finish()
    }
  }

  // MARK: Reports of the store service

  /// Reports the end of a restore; `found` are its unfinished transactions.
  func report(_ end: RestoreEnd, found records: [TransactionRecord]) {
    deliver {
      let result = RestoreResult(
        identifier: end.request, transactions: self.updated(records), error: end.error)
      self.callObservers { $1.paymentQueue($0, restoreEndedWith: result) }
      self.pass(.restoreEnded(result))
    }
  }

  func reportContentPublished() { deliver { self.publications.yield(()) } }

  func report(_ revocation: Revocation) {
    deliverAfterLaunch { self.callObservers { $1.paymentQueue($0, didRevoke: revocation) } }
  }

  /// Stores the storefront; calls `refuse` for purchasing transactions the delegate stops.
  func report(
    storefront: Storefront, isNew: Bool, refuse: @escaping @Sendable (PaymentTransaction) -> Void
  ) {
    deliver {
      let delegate = self.state.withLock { state in
        // The response to the first query may arrive after a change was reported.
        if isNew || state.storefront == nil { state.storefront = storefront }
        return state.delegate
      }
      guard isNew else { return }
      self.callObservers { $1.paymentQueueDidChangeStorefront($0) }
      guard let queue = self.library.queue, let delegate else { return }
      for transaction in self.transactions where transaction.transactionState == .purchasing {
        let isWanted = self.calls.perform {
          delegate.paymentQueue(queue, shouldContinue: transaction, in: storefront)
        }
        if isWanted == false { refuse(transaction) }
      }
    }
  }

  /// Asks the observers whether to add a promoted payment; calls `add` if one agrees.
  func ask(_ payment: Payment, for product: Product, add: @escaping @Sendable () -> Void) {
    deliverAfterLaunch {
      var isWanted = false
      self.callObservers { queue, observer in
        if observer.paymentQueue(queue, shouldAddStorePayment: payment, for: product) {
          isWanted = true
        }
      }
      if isWanted { add() }
    }
  }

  // MARK: Reports

  /// Enqueues a call after all earlier reports about `transactions`, or about any if empty.
  func deliver(about transactions: Set<TransactionID> = [], _ body: @escaping @Sendable () -> Void)
  {
    send(.calls([body]), of: transactions)
  }

  /// Enqueues a call; one from before the launch follows the launch's report.
  ///
  /// For what is reported only once: without an observer it would be lost.
  func deliverAfterLaunch(_ body: @escaping @Sendable () -> Void) {
    let isWaiting = state.withLock { state in
      state.waiting?.append(body)
      return state.waiting != nil
    }
    if !isWaiting { deliver(body) }
  }

  private func takeWaiting() -> [@Sendable () -> Void] {
    state.withLock { state in
      defer { state.waiting = nil }
      return state.waiting ?? []
    }
  }

  private func send(_ notification: Outbox.Notification, of ids: some Collection<TransactionID>) {
    line.send(notification, of: ids) { notification in
      switch notification {
      case .transactions(let records): self.notify(records)
      case .changes(let reports):
        for call in reports.calls { self.notify(self.downloads(of: call)) }
      case .removed(let records): self.notify(removed: records)
      case .calls(let bodies): bodies.forEach { $0() }
      }
    }
  }

  /// Reports all unfinished transactions and their downloads, then what has waited for the launch.
  func report(everything records: [TransactionRecord]) {
    deliver {
      if !records.isEmpty {
        let transactions = self.notify(records)
        self.notify(transactions.downloads(omittingStopped: self.omitsStopped))
      }
      // Taken here, so that no later call can be delivered before one that has waited.
      self.takeWaiting().forEach { $0() }
    }
  }

  func report(transactions records: [TransactionRecord]) {
    send(.transactions(records), of: records.map(\.id))
  }

  @discardableResult
  private func notify(_ records: [TransactionRecord]) -> [PaymentTransaction] {
    let transactions = updated(records)
    callObservers { $1.paymentQueue($0, updatedTransactions: transactions) }
    pass(.transactions(transactions))
    return transactions
  }

  /// Reports changes of the downloads `ids`; `records` are their transactions.
  ///
  /// Reports at once when there are few changes. When there are many, changes within a few
  /// milliseconds share a call, so that a thousand downloads do not cause thousands of calls a
  /// second.
  func report(downloads ids: [DownloadID], of records: [TransactionRecord]) {
    send(.changes(WaitingReports(ids, of: records)), of: records.map(\.id))
  }

  /// Reports the progress of downloads; skips those of removed transactions.
  func report(progress: [DownloadID: DownloadProgress]) {
    send(.changes(WaitingReports(progress: progress)), of: progress.keys.map(\.transaction))
  }

  private func notify(_ downloads: [Download]) {
    guard !downloads.isEmpty else { return }
    callObservers { $1.paymentQueue($0, updatedDownloads: downloads) }
    // At launch there may be 100,000 downloads, and calls wait for few of them.
    let wanted = streams.isEmpty ? downloads.filter { router.isAwaited($0.report.id) } : downloads
    if !wanted.isEmpty { pass(.downloads(wanted.map(DownloadUpdate.init))) }
  }

  /// Updates the handles of `call`, and returns its downloads.
  private func downloads(of call: WaitingReports.Call) -> [Download] {
    let changed = Set(call.downloads)
    var downloads = updated(call.records).flatMap(\.downloads)
      .filter { changed.contains($0.record.id) }
    guard !call.progress.isEmpty else { return downloads }
    let owners = Set(call.progress.keys.map(\.transaction))
    let reports = state.withLock { state in owners.compactMap { state.reports[$0] } }
    for report in reports.sorted(by: { $0.sequence < $1.sequence }) {
      for download in PaymentTransaction(report: report).downloads {
        let id = download.record.id
        guard let progress = call.progress[id] else { continue }
        report.update(progress, of: id)
        if download.state == .active, !changed.contains(id) { downloads.append(download) }
      }
    }
    return downloads
  }

  func report(removed records: [TransactionRecord]) {
    send(.removed(records), of: records.map(\.id))
  }

  private func notify(removed records: [TransactionRecord]) {
    let transactions = updated(records)
    state.withLock { state in records.forEach { state.reports.remove($0.id) } }
    callObservers { $1.paymentQueue($0, removedTransactions: transactions) }
    pass(.removed(transactions))
  }

  func report(error: ContentError) {
    deliver {
      self.callObservers { $1.paymentQueue($0, didFailWith: error) }
      self.pass(.failure(error))
    }
  }

  /// Returns the handles of `records`, updated with them.
  private func updated(_ records: [TransactionRecord]) -> [PaymentTransaction] {
    records.map { record in
      let report = state.withLock { state in
        if let known = state.reports[record.id] { return known }
        let new = TransactionReport(record, in: library)
        state.reports.add(new)
        return new
      }
      report.update(record)
      return PaymentTransaction(report: report)
    }
  }
}

/// The reports of a queue's unfinished transactions, by identifier and in the queue's order.
struct UnfinishedReports {
  private var reports: [TransactionID: TransactionReport] = [:]
  /// In the queue's order; may contain removed reports until the next read.
  private var ordered: [TransactionReport] = []

  init(_ records: [TransactionRecord], in library: ReportLibrary) {
    reports.reserveCapacity(records.count)
    for record in records { add(TransactionReport(record, in: library)) }
  }

  subscript(id: TransactionID) -> TransactionReport? { reports[id] }

  mutating func add(_ report: TransactionReport) {
    reports[report.id] = report
    guard let last = ordered.last, last.sequence > report.sequence else {
      return ordered.append(report)
    }
    // A restored transaction, for example, may be reported late.
    let place = ordered.firstIndex { $0.sequence > report.sequence }
    ordered.insert(report, at: place ?? ordered.count)
  }

  mutating func remove(_ id: TransactionID) {
    reports[id] = nil
    if ordered.count > 2 * reports.count + 16 { removeOld() }
  }

  var transactions: [PaymentTransaction] {
    mutating get {
      if ordered.count > reports.count { removeOld() }
      return ordered.map(PaymentTransaction.init)
    }
  }

  private mutating func removeOld() { ordered.removeAll { reports[$0.id] !== $0 } }
}

extension [PaymentTransaction] {
  /// The downloads to report after these unfinished transactions.
  ///
  /// If `omittingStopped`, without those of a transaction with a failed, paused or cancelled one.
  fileprivate func downloads(omittingStopped: Bool) -> [Download] {
    flatMap { transaction -> [Download] in
      let downloads = transaction.downloads
      return omittingStopped && downloads.contains(where: \.isStopped) ? [] : downloads
    }
  }
}

extension Download {
  fileprivate var isStopped: Bool {
    switch state {
    case .failed, .paused, .cancelled: true
    case .waiting, .active, .finished: false
    }
  }
}

/// Passes each report only to the calls that wait for its transaction or restore.
///
/// So the cost of many concurrent calls is linear, not quadratic.
final class ReportRouter: Sendable {
  typealias Sender = AsyncStream<StreamSignal>.Continuation

  private let state = Mutex(State())

  private struct State {
    /// Waiting calls, by the text of the transaction or restore, which errors have as subject.
    var waiters: [String: Set<Sender>] = [:]
    var isClosed = false
  }

  /// Returns the reports about `id` from now on; ends at once if the queue is closed.
  func signals(about id: some QueueIdentifier) -> (
    stream: AsyncStream<StreamSignal>, sender: Sender
  ) {
    let id = id.rawValue
    let (stream, sender) = AsyncStream.makeStream(of: StreamSignal.self)
    sender.onTermination = { [weak self] _ in self?.remove(sender, id) }
    let isOpen = state.withLock { state in
      if !state.isClosed { state.waiters[id, default: []].insert(sender) }
      return !state.isClosed
    }
    if !isOpen { sender.finish() }
    return (stream, sender)
  }

  private func remove(_ sender: Sender, _ id: String) {
    state.withLock { state in
      state.waiters[id]?.remove(sender)
      if state.waiters[id]?.isEmpty == true { state.waiters[id] = nil }
    }
  }

  var hasWaiters: Bool { state.withLock { !$0.waiters.isEmpty } }

  /// Refuses further calls.
  func close() { state.withLock { $0.isClosed = true } }

  func finish() {
    let waiters = state.withLock { state in
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters.joined() { waiter.finish() }
  }

  func isAwaited(_ id: TransactionID) -> Bool {
    state.withLock { $0.waiters[id.rawValue] != nil }
  }

  /// Passes a report on, divided by transaction.
  func send(_ report: QueueReport) {
    switch report {
    case .transactions(let transactions):
      for transaction in transactions {
        send(.transactions([transaction]), to: transaction.report.id.rawValue)
      }
    case .removed(let transactions):
      for transaction in transactions {
        send(.removed([transaction]), to: transaction.report.id.rawValue)
      }
    case .downloads(let updates):
      for update in updates { send(.downloads([update]), to: update.download.report.id.rawValue) }
    case .failure(let error):
      if let subject = error.subject { send(report, to: subject) }
    case .restoreEnded(let result): send(report, to: result.identifier.rawValue)
    }
  }

  private func send(_ report: QueueReport, to id: String) {
    for waiter in state.withLock({ $0.waiters[id] }) ?? [] { waiter.yield(.report(report)) }
  }
}
