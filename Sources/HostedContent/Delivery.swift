import ContentModel
import Dispatch
import Synchronization

/// Keeps the handles of a queue, and tells its observers, on the delivery queue only.
///
/// Reports are values that the engine hands over in order; a handle changes just before the
/// observers hear of it. Observers are held weakly and called without a lock.
final class Delivery: Sendable {
  private let target: DispatchQueue
  private let library: ReportLibrary
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
    var outbox: [Letter] = []
    /// When the delivery queue will look into it; nil when nobody has asked it to.
    var expected: DispatchTime?
    /// When changes of downloads were told last.
    var lastTold = DispatchTime(uptimeNanoseconds: 1)
    var observers: [WeakObserver] = []
    var hasBeenObserved = false
    weak var delegate: (any PaymentQueueDelegate)?
    var storefront: Storefront?
    /// Observers of streams, which nobody else holds; nil once the queue is closed.
    var streams: [StreamObserver]? = []
    /// Called when the seller says that content may have changed; false for never again.
    var onContentPublished: [@Sendable () -> Bool] = []
  }

  /// Something to be told; only neighbours of one kind are merged, so that nothing changes places.
  fileprivate enum Letter {
    case changes(WaitingReports)
    case progress([String: DownloadProgress])
    case call(@Sendable () -> Void)
  }

  private struct WeakObserver {
    weak var observer: (any PaymentTransactionObserver)?
  }

  init(on target: DispatchQueue, library: ReportLibrary, transactions: [TransactionRecord]) {
    self.target = target
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
    let (isNew, isFirst) = state.withLock { state in
      state.observers.removeAll { $0.observer == nil }
      guard !state.observers.contains(where: { $0.observer === observer }) else {
        return (false, false)
      }
      state.observers.append(WeakObserver(observer: observer))
      defer { state.hasBeenObserved = true }
      return (true, !state.hasBeenObserved)
    }
    if isNew, !isFirst { deliver { self.tellWhatIsUnfinished(observer) } }
    return isFirst
  }

  func remove(_ observer: any PaymentTransactionObserver) {
    state.withLock { state in
      state.observers.removeAll { $0.observer == nil || $0.observer === observer }
    }
  }

  private func tellWhatIsUnfinished(_ observer: any PaymentTransactionObserver) {
    let queue = library.queue
    let (transactions, stillThere) = state.withLock { state in
      (
        state.transactions,
        state.observers.contains { $0.observer === observer }
      )
    }
    guard let queue, stillThere, !transactions.isEmpty else { return }
    observer.paymentQueue(queue, updatedTransactions: transactions)
    let downloads = transactions.flatMap(\.downloads)
    if !downloads.isEmpty { observer.paymentQueue(queue, updatedDownloads: downloads) }
  }

  private func tell(_ body: (PaymentQueue, any PaymentTransactionObserver) -> Void) {
    let observers = observers
    guard let queue = library.queue else { return }
    // One that another observer has just removed is not told any more.
    for observer in observers where isThere(observer) { body(queue, observer) }
  }

  private func isThere(_ observer: any PaymentTransactionObserver) -> Bool {
    state.withLock { $0.observers.contains { $0.observer === observer } }
  }

  /// The observers that are still there.
  var observers: [any PaymentTransactionObserver] {
    state.withLock { $0.observers.compactMap(\.observer) }
  }

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

  /// Reports that a restore finished, or failed.
  func report(restoreEnded error: ContentError?) {
    deliver {
      self.tell { queue, observer in
        if let error {
          observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error)
        } else {
          observer.paymentQueueRestoreCompletedTransactionsFinished(queue)
        }
      }
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

  /// Hands a report over, behind all that were before it.
  private func deliver(_ body: @escaping @Sendable () -> Void) {
    send { _ in (.call(body), .now()) }
  }

  /// Puts a letter into the outbox and sees to it that somebody looks by its time.
  ///
  /// `write` may take the last letter out of the outbox, to merge it into its own.
  private func send(_ write: (inout State) -> (letter: Letter, time: DispatchTime)) {
    let time: DispatchTime? = state.withLock { state in
      let (letter, time) = write(&state)
      state.outbox.append(letter)
      if let expected = state.expected, expected <= time { return nil }
      state.expected = time
      return time
    }
    guard let time else { return }
    if time <= .now() {
      target.async { self.empty() }
    } else {
      target.asyncAfter(deadline: time) { self.empty() }
    }
  }

  /// Tells what is in the outbox; on the delivery queue.
  private func empty() {
    let letters = state.withLock { state in
      state.expected = nil
      if state.outbox.contains(where: \.isChanges) { state.lastTold = .now() }
      defer { state.outbox = [] }
      return state.outbox
    }
    for letter in letters {
      switch letter {
      case .changes(let reports): tell(reports)
      case .progress(let progress): tell(progress)
      case .call(let body): body()
      }
    }
  }

  /// Reports transactions that were added or changed state.
  func report(transactions records: [TransactionRecord]) {
    deliver {
      let handles = records.map { PaymentTransaction(report: self.updated($0)) }
      self.tell { $1.paymentQueue($0, updatedTransactions: handles) }
    }
  }

  /// Reports the downloads named `ids` of transactions that stand as `records` say.
  ///
  /// At once when little happens; when much does, what changed within a few milliseconds shares a
  /// call, so that a thousand downloads do not make thousands of calls a second.
  func report(downloads ids: [String], of records: [TransactionRecord]) {
    send { state in
      var reports = WaitingReports()
      if case .changes(let waiting) = state.outbox.last {
        reports = waiting
        state.outbox.removeLast()
      }
      reports.add(ids, of: records)
      return (.changes(reports), max(.now(), state.lastTold + Self.pause))
    }
  }

  /// The least time between two calls about changed downloads, unless something else is told.
  private static let pause = DispatchTimeInterval.milliseconds(20)

  private func tell(_ reports: WaitingReports) {
    for call in reports.calls {
      let wanted = Set(call.downloads)
      let downloads = call.records
        .flatMap { PaymentTransaction(report: updated($0)).downloads }
        .filter { wanted.contains($0.id) }
      if !downloads.isEmpty { tell { $1.paymentQueue($0, updatedDownloads: downloads) } }
    }
  }

  /// Reports how far downloads are; those whose transactions are gone are passed over.
  ///
  /// While an observer blocks, newer progress takes the place of what waits, so that nothing piles
  /// up before the reports that follow; it never moves before a report that was handed over.
  func report(progress: [String: DownloadProgress]) {
    send { state in
      var merged = progress
      if case .progress(let waiting) = state.outbox.last {
        merged = waiting.merging(progress) { $1 }
        state.outbox.removeLast()
      }
      return (.progress(merged), .now())
    }
  }

  private func tell(_ progress: [String: DownloadProgress]) {
    var moved: [Download] = []
    for transaction in owners(of: progress.keys) {
      for download in transaction.downloads {
        guard let progress = progress[download.id] else { continue }
        transaction.report.update(progress, of: download.id)
        if download.state == .active { moved.append(download) }
      }
    }
    if !moved.isEmpty { tell { $1.paymentQueue($0, updatedDownloads: moved) } }
  }

  /// The transactions of downloads, in the queue's order; no others are looked at.
  private func owners(of downloads: some Sequence<String>) -> [PaymentTransaction] {
    let ids = Set(downloads.compactMap { DownloadRecord.transaction(ofDownload: $0) })
    let reports = state.withLock { state in ids.compactMap { state.reports[$0] } }
    return reports.map { ($0.record.sequence, $0) }.sorted { $0.0 < $1.0 }
      .map { PaymentTransaction(report: $1) }
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
      let new = TransactionReport(record, in: library)
      state.reports[record.id] = new
      return new
    }
    report.update(record)
    return report
  }
}

extension Delivery.Letter {
  fileprivate var isChanges: Bool {
    if case .changes = self { true } else { false }
  }
}
