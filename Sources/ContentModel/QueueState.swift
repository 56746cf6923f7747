/// The payment queue as a pure state machine: no clock, no I/O, no randomness.
///
/// The shell applies an event to a copy, writes the decision's changes to the journal, takes the
/// copy as the new state, and then carries out the effects. Every state takes every event; what
/// has no meaning in a state changes nothing. Documentation/StateMachine.md has the whole table.
package struct QueueState: Hashable, Sendable {
  /// Unfinished transactions in their order.
  package private(set) var transactions: [TransactionRecord]
  /// How many downloads may be worked on at once, 1 or more.
  package private(set) var activeLimit: Int

  /// Downloads that a worker is on, those of transactions that are gone included.
  private var workers: [String: Worker] = [:]
  private var nextSequence: Int
  /// Whether somebody observes; before that nothing is asked for or started.
  private var isLaunched = false

  private struct Worker: Hashable {
    let content: ProductIdentifier
    var duty: Duty
  }

  /// What a worker is to do.
  private enum Duty: Hashable {
    /// Next: gone, or stopping.
    case working
    /// Told to end; what was fetched is kept, or discarded once it has ended. Next: gone.
    case stopping(discarding: Bool)
  }

  /// Takes up the transactions that the journal has.
  package init(transactions: [TransactionRecord] = [], activeLimit: Int = 3) {
    self.transactions = transactions.sorted { $0.sequence < $1.sequence }
    self.activeLimit = max(1, activeLimit)
    nextSequence = (self.transactions.last?.sequence ?? 0) + 1
  }

  /// The unfinished transaction `id`.
  package func transaction(_ id: String) -> TransactionRecord? {
    transactions.first { $0.id == id }
  }

  /// The download `id` of an unfinished transaction.
  package func download(_ id: String) -> DownloadRecord? {
    place(ofDownload: id).map { transactions[$0.transaction].downloads[$0.download] }
  }

  /// Whether a worker is on the download `id`.
  package func isWorked(_ id: String) -> Bool { workers[id] != nil }

  /// Decides what `event` leads to.
  package mutating func apply(_ event: QueueEvent) -> QueueDecision {
    var draft = Draft()
    switch event {
    case .launched: launch(&draft)
    case .paymentAdded(let id, let payment): add(id, payment, &draft)
    case .restored(let id, let original, let contents): restore(id, original, contents, &draft)
    case .purchaseAnswered(let id, let outcome): answer(id, outcome, &draft)
    case .startRequested(let ids): each(ids, &draft) { $0.start($1, $2, &$3) }
    case .pauseRequested(let ids): each(ids, &draft) { $0.pause($1, $2, &$3) }
    case .resumeRequested(let ids): each(ids, &draft) { $0.resume($1, $2, &$3) }
    case .cancelRequested(let ids): each(ids, &draft) { $0.cancel($1, $2, &$3) }
    case .finishRequested(let id): finish(id, &draft)
    case .workEnded(let id, let result): endWork(id, result, &draft)
    case .activeLimitChanged(let limit): activeLimit = max(1, limit)
    }
    activateWaiting(&draft)
    return draft.decision(for: self)
  }

  // MARK: Transactions

  private mutating func launch(_ draft: inout Draft) {
    for (index, transaction) in transactions.enumerated() {
      // Asked again, a deferred one may have been decided; nothing else would tell.
      if !isLaunched, transaction.state == .purchasing || transaction.state == .deferred {
        draft.effects.append(.purchase(transaction: transaction.id, transaction.payment))
      }
      for (position, download) in transaction.downloads.enumerated()
      where download.state == .active && workers[download.id] == nil {
        transactions[index].downloads[position].state = .waiting
        draft.touched.insert(transaction.id)
      }
    }
    isLaunched = true
    draft.reportedTransactions += transactions.map(\.id)
    draft.reportedDownloads += transactions.flatMap { $0.downloads.map(\.id) }
  }

  private mutating func add(_ id: String, _ payment: Payment, _ draft: inout Draft) {
    guard transaction(id) == nil else { return }
    var record = TransactionRecord(
      id: id, sequence: nextSequence, payment: payment, state: .purchasing)
    if let refusal = payment.refusal {
      record.state = .failed
      record.error = refusal
    } else if isLaunched {
      draft.effects.append(.purchase(transaction: id, payment))
    }
    append(record, &draft)
  }

  private mutating func restore(
    _ id: String, _ original: Grant, _ contents: [ContentOffer], _ draft: inout Draft
  ) {
    guard transaction(id) == nil else { return }
    let grant = Grant(
      transactionIdentifier: id, date: original.date, payment: original.payment,
      receipt: original.receipt)
    append(
      TransactionRecord(
        id: id, sequence: nextSequence, payment: original.payment, state: .restored, grant: grant,
        original: original, downloads: downloads(of: id, contents)),
      &draft)
  }

  private mutating func append(_ record: TransactionRecord, _ draft: inout Draft) {
    nextSequence += 1
    transactions.append(record)
    draft.report(transaction: record.id)
    draft.reportedDownloads += record.downloads.map(\.id)
  }

  private mutating func answer(_ id: String, _ outcome: PurchaseOutcome, _ draft: inout Draft) {
    guard let index = transactions.firstIndex(where: { $0.id == id }) else { return }
    switch transactions[index].state {
    case .purchasing, .deferred: break
    case .purchased, .failed, .restored: return
    }
    switch outcome {
    case .purchased(let grant, let contents):
      transactions[index].state = .purchased
      transactions[index].grant = grant
      transactions[index].downloads = downloads(of: id, contents)
    case .failed(let error):
      transactions[index].state = .failed
      transactions[index].error = error
    case .deferred:
      guard transactions[index].state != .deferred else { return }
      transactions[index].state = .deferred
    }
    draft.report(transaction: id)
    draft.reportedDownloads += transactions[index].downloads.map(\.id)
  }

  private func downloads(of id: String, _ contents: [ContentOffer]) -> [DownloadRecord] {
    contents.enumerated().map { DownloadRecord(id: "\(id)-\($0.offset + 1)", offer: $0.element) }
  }

  private mutating func finish(_ id: String, _ draft: inout Draft) {
    guard let index = transactions.firstIndex(where: { $0.id == id }) else { return }
    switch transactions[index].state {
    case .purchasing, .deferred:
      draft.effects.append(.refuse(.cannotFinish(transactions[index])))
      return
    case .purchased, .failed, .restored: break
    }
    for position in transactions[index].downloads.indices { cancel(index, position, &draft) }
    let record = transactions.remove(at: index)
    draft.removed.append(record)
  }

  // MARK: Downloads

  private mutating func start(_ index: Int, _ position: Int, _ draft: inout Draft) {
    switch transactions[index].downloads[position].state {
    case .waiting, .paused, .failed, .cancelled: request(index, position, &draft)
    case .active, .finished: break
    }
  }

  private mutating func resume(_ index: Int, _ position: Int, _ draft: inout Draft) {
    switch transactions[index].downloads[position].state {
    case .paused, .failed: request(index, position, &draft)
    case .waiting, .active, .finished, .cancelled: break
    }
  }

  private mutating func pause(_ index: Int, _ position: Int, _ draft: inout Draft) {
    switch transactions[index].downloads[position].state {
    case .waiting, .active:
      set(.paused, index, position, &draft)
      stopWorker(of: transactions[index].downloads[position].id, discarding: false, &draft)
    case .paused, .finished, .failed, .cancelled: break
    }
  }

  private mutating func cancel(_ index: Int, _ position: Int, _ draft: inout Draft) {
    let download = transactions[index].downloads[position]
    switch download.state {
    case .waiting, .active, .paused, .failed:
      set(.cancelled, index, position, &draft)
      if workers[download.id] == nil {
        draft.effects.append(.discardStaging(download: download.id))
      } else {
        stopWorker(of: download.id, discarding: true, &draft)
      }
    case .finished, .cancelled: break
    }
  }

  private mutating func endWork(_ id: String, _ result: WorkResult, _ draft: inout Draft) {
    guard let worker = workers.removeValue(forKey: id) else { return }
    if worker.duty == .stopping(discarding: true) {
      draft.effects.append(.discardStaging(download: id))
    }
    guard let place = place(ofDownload: id) else { return }
    let (index, position) = (place.transaction, place.download)
    switch (transactions[index].downloads[position].state, result) {
    case (.active, .installed), (.paused, .installed):
      // Paused too late to matter: the content is there, and says so.
      set(.finished, index, position, &draft)
    case (.active, .failed(let error)):
      set(.failed, index, position, &draft)
      transactions[index].downloads[position].error = error
    case (.active, .stopped):
      // Nobody told it to stop, so it goes on.
      set(.waiting, index, position, &draft)
    case (.paused, .failed), (.paused, .stopped), (.waiting, _), (.finished, _), (.failed, _),
      (.cancelled, _):
      break
    }
  }

  private mutating func request(_ index: Int, _ position: Int, _ draft: inout Draft) {
    switch transactions[index].state {
    case .purchased, .restored: break
    case .purchasing, .failed, .deferred: return
    }
    let download = transactions[index].downloads[position]
    guard download.state != .waiting || !download.isRequested else { return }
    set(.waiting, index, position, &draft)
    transactions[index].downloads[position].isRequested = true
  }

  /// Gives free workers to waiting downloads, in the queue's order.
  ///
  /// One content is worked on by one download at a time, since two would install into one folder
  /// and race for `current`. The second one then finds what the first has installed.
  private mutating func activateWaiting(_ draft: inout Draft) {
    guard isLaunched else { return }
    var busy = Set(workers.values.map(\.content))
    for index in transactions.indices {
      for position in transactions[index].downloads.indices {
        guard workers.count < activeLimit else { return }
        let download = transactions[index].downloads[position]
        // The content of a download whose old worker is still stopping is busy, too.
        guard download.state == .waiting, download.isRequested,
          busy.insert(download.offer.contentIdentifier).inserted
        else { continue }
        set(.active, index, position, &draft)
        workers[download.id] = Worker(content: download.offer.contentIdentifier, duty: .working)
        draft.started.append(transactions[index].downloads[position])
      }
    }
  }

  private mutating func set(
    _ state: DownloadState, _ index: Int, _ position: Int, _ draft: inout Draft
  ) {
    transactions[index].downloads[position].state = state
    transactions[index].downloads[position].error = nil
    if state != .waiting, state != .active {
      transactions[index].downloads[position].isRequested = false
    }
    draft.report(
      download: transactions[index].downloads[position].id, of: transactions[index].id)
  }

  private mutating func stopWorker(of id: String, discarding: Bool, _ draft: inout Draft) {
    switch workers[id]?.duty {
    case .working:
      workers[id]?.duty = .stopping(discarding: discarding)
      draft.effects.append(.stopWork(download: id))
    case .stopping(let wasDiscarding):
      workers[id]?.duty = .stopping(discarding: discarding || wasDiscarding)
    case nil: break
    }
  }

  private func place(ofDownload id: String) -> (transaction: Int, download: Int)? {
    for (index, transaction) in transactions.enumerated() {
      if let position = transaction.downloads.firstIndex(where: { $0.id == id }) {
        return (index, position)
      }
    }
    return nil
  }

  private mutating func each(
    _ ids: [String], _ draft: inout Draft,
    _ act: (inout QueueState, Int, Int, inout Draft) -> Void
  ) {
    for id in ids {
      guard let place = place(ofDownload: id) else { continue }
      act(&self, place.transaction, place.download, &draft)
    }
  }
}

extension QueueState {
  /// A decision while it is being made; each transaction is saved and reported once.
  private struct Draft {
    var touched: Set<String> = []
    var reportedTransactions: [String] = []
    var reportedDownloads: [String] = []
    var removed: [TransactionRecord] = []
    var started: [DownloadRecord] = []
    var effects: [QueueEffect] = []

    mutating func report(transaction id: String) {
      touched.insert(id)
      reportedTransactions.append(id)
    }

    mutating func report(download id: String, of transaction: String) {
      touched.insert(transaction)
      if !reportedDownloads.contains(id) { reportedDownloads.append(id) }
    }

    /// Reports come before the work that they announce, so that active is seen before finished.
    func decision(for state: QueueState) -> QueueDecision {
      var decision = QueueDecision()
      let gone = Set(removed.flatMap { $0.downloads.map(\.id) })
      let reportedDownloads = reportedDownloads.filter { !gone.contains($0) }
      decision.changes = removed.map { .finish($0) }
      decision.changes += state.transactions.filter { touched.contains($0.id) }.map { .save($0) }
      if !reportedTransactions.isEmpty {
        decision.effects.append(.reportTransactions(reportedTransactions))
      }
      if !reportedDownloads.isEmpty { decision.effects.append(.reportDownloads(reportedDownloads)) }
      if !removed.isEmpty { decision.effects.append(.reportRemoved(removed)) }
      decision.effects += effects
      decision.effects += started.map { .startWork($0) }
      return decision
    }
  }
}

extension ContentError {
  static func cannotFinish(_ transaction: TransactionRecord) -> ContentError {
    ContentError(
      .cannotFinish,
      "The transaction for \(transaction.payment.productIdentifier) is \(transaction.state) and cannot be finished",
      remedy: "Finish it once it is purchased, failed or restored", subject: transaction.id)
  }
}
