import ContentModel
import Dispatch
import FileIO
import Concurrency

/// Keeps the handles of a queue, and calls its observers, on the delivery queue only.
///
/// Reports are values that the engine hands over in order; a handle changes just before the
/// observers are called. Observers are held weakly and called without a lock, and none once
/// `close()` has returned. Streams and calls that wait still get what was reported before.
final class Delivery: Sendable {
  private let line: OutboxLine
  private let library: ReportLibrary
  private let list = ObserverList<any PaymentTransactionObserver>()
  /// For calls that wait for one transaction or restore.
  let router = ReportRouter()
  /// Calls of the user's code in progress.
  private let calls: ActivityGate
  /// Sequences that are woken when content was published.
  let publicationListeners = PublicationListeners()
  private let state: Mutex<State>

  private struct State {
    var reports: UnfinishedReports
    var hasBeenObserved = false
    weak var delegate: (any PaymentQueueDelegate)?
    var storefront: Storefront?
    /// Observers of streams, which nobody else holds.
    var streams: [StreamObserver] = []
    /// Whether the queue is closed, so that there are no new streams.
    var areStreamsEnding = false
  }

  /// `now` is the time that `target` goes by.
  init(
    on target: any SerialLine, now: @escaping @Sendable () -> DispatchTime,
    makeSignal: @escaping MakeThreadSignal = DispatchSemaphore.unsent, library: ReportLibrary,
    transactions: [TransactionRecord]
  ) {
    line = OutboxLine(on: target, now: now)
    self.library = library
    calls = ActivityGate(makeSignal)
    state = Mutex(State(reports: UnfinishedReports(transactions, in: library)))
  }

  /// Names the queue that observers are told about; once, before anything is delivered.
  func attach(to queue: PaymentQueue) { library.queue = queue }

  /// Handles to the unfinished transactions, as reported last.
  var transactions: [PaymentTransaction] {
    state.withLock { $0.reports.transactions }
  }

  /// The transaction `id`, unless its removal was reported; those who observe now will get its
  /// reports.
  func transaction(_ id: String) -> PaymentTransaction? {
    state.withLock { $0.reports[id] }.map(PaymentTransaction.init)
  }

  // MARK: Observers

  /// Adds `observer` unless it is there; true for the first observer ever.
  ///
  /// A later one is told at once what is unfinished; the first learns it from the launch.
  func add(_ observer: any PaymentTransactionObserver) -> Bool {
    guard list.add(observer) else { return false }
    let isFirst = beginObserving()
    if !isFirst {
      deliver {
        self.tellWhatIsUnfinished(observer) { body in
          if self.list.contains(observer) { self.calls.perform(body) }
        }
      }
    }
    return isFirst
  }

  /// True for the first observer, stream or waiting call ever.
  func beginObserving() -> Bool {
    state.withLock { state in
      defer { state.hasBeenObserved = true }
      return !state.hasBeenObserved
    }
  }

  func remove(_ observer: any PaymentTransactionObserver) { list.remove(observer) }

  private func tellWhatIsUnfinished(
    _ observer: any PaymentTransactionObserver, call: (_ body: () -> Void) -> Void
  ) {
    let transactions = transactions
    guard let queue = library.queue, !transactions.isEmpty else { return }
    call { observer.paymentQueue(queue, updatedTransactions: transactions) }
    let downloads = transactions.flatMap(\.downloads)
    if !downloads.isEmpty { call { observer.paymentQueue(queue, updatedDownloads: downloads) } }
  }

  private func tell(_ body: (PaymentQueue, any PaymentTransactionObserver) -> Void) {
    guard let queue = library.queue else { return }
    list.forEach { observer in calls.perform { body(queue, observer) } }
    for stream in state.withLock({ $0.streams }) { body(queue, stream) }
    body(queue, router)
  }

  /// Calls no observer any more, and waits for a call in progress, at most until `deadline`; within
  /// such a call it returns at once.
  func close(until deadline: DispatchTime) {
    calls.close()
    calls.wait(until: deadline)
  }

  /// The observers that still exist.
  var observers: [any PaymentTransactionObserver] { list.observers }

  var delegate: (any PaymentQueueDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// The storefront as it was reported last.
  var storefront: Storefront? { state.withLock { $0.storefront } }

  // MARK: Streams

  /// Adds a stream's observer, as `add` does, and holds it; nil when the queue is closed.
  func add(_ stream: StreamObserver) -> Bool? {
    let isHeld = state.withLock { state in
      if !state.areStreamsEnding { state.streams.append(stream) }
      return !state.areStreamsEnding
    }
    guard isHeld else { return nil }
    let isFirst = beginObserving()
    if !isFirst { deliver { self.tellWhatIsUnfinished(stream) { $0() } } }
    return isFirst
  }

  func remove(_ stream: StreamObserver) {
    state.withLock { $0.streams.removeAll { $0 === stream } }
  }

  /// Ends all streams and calls that wait, after everything that was reported before.
  func endStreams() {
    router.close()
    publicationListeners.finish()
    let hasStreams = state.withLock { state in
      state.areStreamsEnding = true
      return !state.streams.isEmpty
    }
    // Otherwise nothing is left behind that would keep the journal open.
    guard hasStreams || router.hasWaiters else { return }
    deliver {
      self.router.finish()
      let streams = self.state.withLock { state in
        defer { state.streams = [] }
        return state.streams
      }
      streams.forEach { $0.finish() }
    }
  }

  // MARK: What the seller says

  /// Reports how a restore ended; `found` are those of its transactions that are unfinished.
  func report(_ end: RestoreEnd, found records: [TransactionRecord]) {
    deliver {
      let result = RestoreResult(
        identifier: RestoreID(rawValue: end.request),
        transactions: records.map { PaymentTransaction(report: self.updated($0)) },
        error: end.error)
      self.tell { $1.paymentQueue($0, restoreEndedWith: result) }
    }
  }

  func reportContentPublished() { deliver { self.publicationListeners.notify() } }

  func report(_ revocation: Revocation) {
    deliver { self.tell { $1.paymentQueue($0, didRevoke: revocation) } }
  }

  /// Notes the storefront; `refuse` gets the purchasing transactions that must not go on in it.
  func report(
    storefront: Storefront, isNew: Bool, refuse: @escaping @Sendable (PaymentTransaction) -> Void
  ) {
    deliver {
      let delegate = self.state.withLock { state in
        // The first answer may come after a change that was told meanwhile.
        if isNew || state.storefront == nil { state.storefront = storefront }
        return state.delegate
      }
      guard isNew else { return }
      self.tell { queue, observer in observer.paymentQueueDidChangeStorefront(queue) }
      guard let queue = self.library.queue, let delegate else { return }
      for transaction in self.transactions where transaction.transactionState == .purchasing {
        let isWanted = self.calls.perform {
          delegate.paymentQueue(queue, shouldContinue: transaction, in: storefront)
        }
        if isWanted == false { refuse(transaction) }
      }
    }
  }

  /// Asks the observers whether a promoted payment is added; `add` is called when one says so.
  func ask(
    _ payment: Payment, for product: Product, add: @escaping @Sendable () -> Void
  ) {
    deliver {
      var isWanted = false
      self.tell { queue, observer in
        if observer.paymentQueue(queue, shouldAddStorePayment: payment, for: product) {
          isWanted = true
        }
      }
      if isWanted { add() }
    }
  }

  // MARK: Reports

  /// Hands a call over, behind all that was reported before it: of `transactions` if there are any,
  /// else of all.
  func deliver(about transactions: Set<String> = [], _ body: @escaping @Sendable () -> Void) {
    send(.calls([body]), of: transactions)
  }

  private func send(_ notification: Outbox.Notification, of ids: some Collection<String>) {
    line.send(notification, of: ids) { notification in
      switch notification {
      case .transactions(let records): self.tell(records)
      case .changes(let reports): self.tell(reports)
      case .removed(let records): self.tell(removed: records)
      case .calls(let bodies): bodies.forEach { $0() }
      }
    }
  }

  /// Reports all that is unfinished.
  func report(everything records: [TransactionRecord]) {
    guard !records.isEmpty else { return }
    deliver {
      let handles = records.map { PaymentTransaction(report: self.updated($0)) }
      self.tell { $1.paymentQueue($0, updatedTransactions: handles) }
      let downloads = handles.flatMap(\.downloads)
      if !downloads.isEmpty { self.tell { $1.paymentQueue($0, updatedDownloads: downloads) } }
    }
  }

  /// Reports transactions that were added or changed state.
  func report(transactions records: [TransactionRecord]) {
    send(.transactions(records), of: records.map(\.id))
  }

  private func tell(_ records: [TransactionRecord]) {
    let handles = records.map { PaymentTransaction(report: updated($0)) }
    tell { $1.paymentQueue($0, updatedTransactions: handles) }
  }

  /// Reports the downloads named `ids` of transactions that stand as `records` say.
  ///
  /// At once when little happens; when much does, what changed within a few milliseconds shares a
  /// call, so that a thousand downloads do not make thousands of calls a second.
  func report(downloads ids: [String], of records: [TransactionRecord]) {
    send(.changes(WaitingReports(ids, of: records)), of: records.map(\.id))
  }

  /// Reports how far downloads are; those whose transactions are gone are passed over.
  func report(progress: [String: DownloadProgress]) {
    let ids = progress.keys.compactMap { DownloadRecord.transaction(ofDownload: $0) }
    send(.changes(WaitingReports(progress: progress)), of: ids)
  }

  private func tell(_ reports: WaitingReports) {
    for call in reports.calls {
      let downloads = downloads(of: call)
      if !downloads.isEmpty { tell { $1.paymentQueue($0, updatedDownloads: downloads) } }
    }
  }

  /// The downloads that `call` tells, with their handles brought to what it says.
  private func downloads(of call: WaitingReports.Call) -> [Download] {
    let changed = Set(call.downloads)
    var downloads = call.records.map { PaymentTransaction(report: updated($0)) }
      .flatMap(\.downloads).filter { changed.contains($0.record.id) }
    for download in self.downloads(call.progress.keys) {
      let id = download.record.id
      guard let progress = call.progress[id] else { continue }
      download.report.update(progress, of: id)
      if download.state == .active, !changed.contains(id) { downloads.append(download) }
    }
    return downloads
  }

  /// Downloads of unfinished transactions, in the queue's order; no others are looked at.
  private func downloads(_ ids: some Collection<String>) -> [Download] {
    guard !ids.isEmpty else { return [] }
    let owners = Set(ids.compactMap { DownloadRecord.transaction(ofDownload: $0) })
    let reports = state.withLock { state in owners.compactMap { state.reports[$0] } }
    return reports.sorted { $0.sequence < $1.sequence }
      .flatMap { PaymentTransaction(report: $0).downloads }
  }

  /// Reports transactions that were finished.
  func report(removed records: [TransactionRecord]) {
    send(.removed(records), of: records.map(\.id))
  }

  private func tell(removed records: [TransactionRecord]) {
    let handles = records.map { PaymentTransaction(report: updated($0)) }
    state.withLock { state in records.forEach { state.reports.remove($0.id) } }
    tell { $1.paymentQueue($0, removedTransactions: handles) }
  }

  /// Reports something that could not be done.
  func report(error: ContentError) {
    deliver { self.tell { $1.paymentQueue($0, didFailWith: error) } }
  }

  /// The handle's storage for `record`, brought to what the record says.
  private func updated(_ record: TransactionRecord) -> TransactionReport {
    let report = state.withLock { state in
      if let known = state.reports[record.id] { return known }
      let new = TransactionReport(record, in: library)
      state.reports.add(new)
      return new
    }
    report.update(record)
    return report
  }
}
