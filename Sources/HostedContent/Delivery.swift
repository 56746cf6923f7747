import ContentModel
import Dispatch
import Locks

/// Keeps the handles of a queue, and tells its observers, on the delivery queue only.
///
/// Reports are values that the engine hands over in order; a handle changes just before the
/// observers hear of it. Observers are held weakly and called without a lock.
final class Delivery: Sendable {
  private let target: any SerialLine
  private let now: @Sendable () -> DispatchTime
  private let library: ReportLibrary
  private let list = ObserverList<any PaymentTransactionObserver>()
  private let state: Mutex<State>

  private struct State {
    /// Unfinished transactions by identifier.
    var reports: [String: TransactionReport]

    /// Handles in the queue's order.
    var transactions: [PaymentTransaction] {
      reports.values.map { ($0.record.sequence, $0) }.sorted { $0.0 < $1.0 }
        .map { PaymentTransaction(report: $1) }
    }

    /// What waits for the delivery queue, in its order.
    var outbox = Outbox()
    /// When the delivery queue will look into it; nil when nobody has asked it to.
    var expected: DispatchTime?
    /// When changes of downloads may be told.
    var pace = CallPace()
    var hasBeenObserved = false
    weak var delegate: (any PaymentQueueDelegate)?
    var storefront: Storefront?
    /// Observers of streams, which nobody else holds; nil once the queue is closed.
    var streams: [StreamObserver]? = []
    /// Called when the seller says that content may have changed; false for never again.
    var onContentPublished: [@Sendable () -> Bool] = []

    /// When somebody is still to be asked to look into the outbox.
    mutating func expect() -> DispatchTime? {
      guard let time = outbox.nextDue, expected.map({ time < $0 }) ?? true else { return nil }
      expected = time
      return time
    }
  }

  /// `now` is the time that `target` goes by.
  init(
    on target: any SerialLine, now: @escaping @Sendable () -> DispatchTime, library: ReportLibrary,
    transactions: [TransactionRecord]
  ) {
    self.target = target
    self.now = now
    self.library = library
    var reports: [String: TransactionReport] = [:]
    reports.reserveCapacity(transactions.count)
    for record in transactions { reports[record.id] = TransactionReport(record, in: library) }
    state = Mutex(State(reports: reports))
  }

  /// Names the queue that observers are told about; once, before anything is delivered.
  func attach(to queue: PaymentQueue) { library.queue = queue }

  /// Handles to the unfinished transactions, as reported last.
  var transactions: [PaymentTransaction] {
    state.withLock { $0.transactions }
  }

  /// Whether the removal of `transaction` was not yet told, so that who observes now will hear it.
  func isUnfinished(_ transaction: PaymentTransaction) -> Bool {
    state.withLock { $0.reports[transaction.id] === transaction.report }
  }

  // MARK: Observers

  /// Adds `observer` unless it is there; true for the first observer ever.
  ///
  /// A later one is told at once what is unfinished; the first learns it from the launch.
  func add(_ observer: any PaymentTransactionObserver) -> Bool {
    guard list.add(observer) else { return false }
    let isFirst = state.withLock { state in
      defer { state.hasBeenObserved = true }
      return !state.hasBeenObserved
    }
    if !isFirst { deliver { self.tellWhatIsUnfinished(observer) } }
    return isFirst
  }

  func remove(_ observer: any PaymentTransactionObserver) { list.remove(observer) }

  private func tellWhatIsUnfinished(_ observer: any PaymentTransactionObserver) {
    let transactions = transactions
    guard let queue = library.queue, list.contains(observer), !transactions.isEmpty else { return }
    observer.paymentQueue(queue, updatedTransactions: transactions)
    let downloads = transactions.flatMap(\.downloads)
    guard list.contains(observer), !downloads.isEmpty else { return }
    observer.paymentQueue(queue, updatedDownloads: downloads)
  }

  private func tell(_ body: (PaymentQueue, any PaymentTransactionObserver) -> Void) {
    guard let queue = library.queue else { return }
    list.forEach { body(queue, $0) }
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

  /// Holds a stream's observer; false when the queue is closed.
  func hold(_ stream: StreamObserver) -> Bool {
    state.withLock { state in
      state.streams?.append(stream)
      return state.streams != nil
    }
  }

  func letGo(_ stream: StreamObserver) {
    state.withLock { $0.streams?.removeAll { $0 === stream } }
  }

  /// Ends all streams, after everything that was reported before.
  func endStreams() {
    let streams = state.withLock { state in
      defer { state.streams = nil }
      return state.streams ?? []
    }
    guard !streams.isEmpty else { return }
    deliver { streams.forEach { $0.finish() } }
  }

  // MARK: What the seller says

  /// Reports how a restore ended; `found` are those of its transactions that are unfinished.
  func report(_ end: RestoreEnd, found records: [TransactionRecord]) {
    deliver {
      let result = RestoreResult(
        identifier: end.request,
        transactions: records.map { PaymentTransaction(report: self.updated($0)) },
        error: end.error)
      self.tell { $1.paymentQueue($0, restoreEndedWith: result) }
    }
  }

  /// Adds what is called on the delivery queue when the seller says that content may have changed,
  /// until it returns false.
  func onContentPublished(_ body: @escaping @Sendable () -> Bool) {
    state.withLock { $0.onContentPublished.append(body) }
  }

  func reportContentPublished() {
    deliver {
      let bodies = self.state.withLock { state in
        defer { state.onContentPublished = [] }
        return state.onContentPublished
      }
      let wanted = bodies.filter { $0() }
      self.state.withLock { $0.onContentPublished += wanted }
    }
  }

  func report(revoked products: [ProductIdentifier]) {
    deliver {
      self.tell { $1.paymentQueue($0, didRevokeEntitlementsForProductIdentifiers: products) }
    }
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
        if !delegate.paymentQueue(queue, shouldContinue: transaction, in: storefront) {
          refuse(transaction)
        }
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

  /// Hands a call over, behind all that was reported before it.
  func deliver(_ body: @escaping @Sendable () -> Void) { send(.call(body), of: []) }

  /// Puts a letter into the outbox and sees to it that somebody looks by its time; changes may have to
  /// wait for theirs.
  private func send(_ letter: Outbox.Letter, of ids: some Collection<String>) {
    let time: DispatchTime? = state.withLock { state in
      let now = now()
      state.outbox.put(letter, of: ids, due: letter.isChanges ? state.pace.next(at: now) : now)
      return state.expect()
    }
    look(at: time)
  }

  private func look(at time: DispatchTime?) {
    guard let time else { return }
    if time <= now() {
      target.enqueue { self.empty() }
    } else {
      target.enqueue(at: time) { self.empty() }
    }
  }

  /// Tells what is due; on the delivery queue.
  private func empty() {
    let (letters, time) = state.withLock { state in
      let now = now()
      let letters = state.outbox.take(at: now)
      if letters.contains(where: \.isChanges) { state.pace.note(at: now) }
      state.expected = nil
      return (letters, state.expect())
    }
    look(at: time)
    for letter in letters {
      switch letter {
      case .transactions(let records): tell(records)
      case .changes(let reports): tell(reports)
      case .removed(let records): tell(removed: records)
      case .call(let body): body()
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
      .flatMap(\.downloads).filter { changed.contains($0.id) }
    for download in self.downloads(call.progress.keys) {
      guard let progress = call.progress[download.id] else { continue }
      download.report.update(progress, of: download.id)
      if download.state == .active, !changed.contains(download.id) { downloads.append(download) }
    }
    return downloads
  }

  /// Downloads of unfinished transactions, in the queue's order; no others are looked at.
  private func downloads(_ ids: some Collection<String>) -> [Download] {
    guard !ids.isEmpty else { return [] }
    let owners = Set(ids.compactMap { DownloadRecord.transaction(ofDownload: $0) })
    let reports = state.withLock { state in owners.compactMap { state.reports[$0] } }
    return reports.map { ($0.record.sequence, $0) }.sorted { $0.0 < $1.0 }
      .flatMap { PaymentTransaction(report: $1).downloads }
  }

  /// Reports transactions that were finished.
  func report(removed records: [TransactionRecord]) {
    send(.removed(records), of: records.map(\.id))
  }

  private func tell(removed records: [TransactionRecord]) {
    let handles = records.map { PaymentTransaction(report: updated($0)) }
    state.withLock { state in records.forEach { state.reports[$0.id] = nil } }
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
      state.reports[record.id] = new
      return new
    }
    report.update(record)
    return report
  }
}
