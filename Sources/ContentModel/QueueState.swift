/// The payment queue as a pure state machine: no clock, no I/O, no randomness.
///
/// The shell applies an event to a copy, writes the decision's changes to the journal, takes the
/// copy as the new state, and then carries out the effects. Every state takes every event; what
/// has no meaning in a state changes nothing. Documentation/StateMachine.md has the whole table.
package struct QueueState: Hashable, Sendable {
  private var table = TransactionTable()
  /// What `activateWaiting` looks through, so that no event looks at all transactions.
  private var line = WaitingLine()
  /// Transactions by the seller's number of their grant, where that is not their own identifier.
  private var granted: [String: Set<String>] = [:]
  /// How many downloads may be worked on at once, 1 to 32.
  package private(set) var activeLimit: Int

  /// Downloads that a worker is on, those of transactions that are gone included.
  private var workers: [String: Worker] = [:]
  private var nextSequence: Int
  /// Whether a restore is under way; a second one is refused.
  private var isRestoring = false
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

  /// More at once would only be more threads that wait for the same disk and network.
  private static func bounded(_ limit: Int) -> Int { min(max(1, limit), 32) }

  /// Takes up the transactions that the journal has.
  package init(transactions: [TransactionRecord] = [], activeLimit: Int = 3) {
    self.activeLimit = Self.bounded(activeLimit)
    nextSequence = (transactions.lazy.map(\.sequence).max() ?? 0) + 1
    transactions.forEach { store($0) }
  }

  /// Unfinished transactions in their order; made anew, so not for every event.
  package var transactions: [TransactionRecord] { table.ordered }

  /// The unfinished transaction `id`.
  package func transaction(_ id: String) -> TransactionRecord? { table[id] }

  /// The download `id` of an unfinished transaction.
  package func download(_ id: String) -> DownloadRecord? {
    place(ofDownload: id).map { $0.record.downloads[$0.position] }
  }

  /// Whether a worker is on the download `id`.
  package func isWorked(_ id: String) -> Bool { workers[id] != nil }

  /// Decides what `event` leads to.
  package mutating func apply(_ event: QueueEvent) -> QueueDecision {
    var draft = Draft()
    switch event {
    case .launched: launch(&draft)
    case .paymentAdded(let id, let payment): add(id, payment, &draft)
    case .restored(let id, let original, let contents, let purpose):
      restore(id, original, contents, purpose, &draft)
    case .granted(let id, let grant, let contents): take(id, grant, contents, &draft)
    case .restoreRequested(let account): beginRestore(account, &draft)
    case .restoreEnded(let error): endRestore(error, &draft)
    case .purchaseAnswered(let id, let outcome): answer(id, outcome, &draft)
    case .startRequested(let ids): each(ids, &draft) { $0.start($1, &$2) }
    case .pauseRequested(let ids): each(ids, &draft) { $0.pause($1, &$2) }
    case .resumeRequested(let ids): each(ids, &draft) { $0.resume($1, &$2) }
    case .cancelRequested(let ids): each(ids, &draft) { $0.cancel($1, &$2) }
    case .finishRequested(let id): finish(id, &draft)
    case .workEnded(let id, let result): endWork(id, result, &draft)
    case .activeLimitChanged(let limit): activeLimit = Self.bounded(limit)
    }
    activateWaiting(&draft)
    let decision = draft.decision(for: self)
    // Once it is saved, the journal has the receipt; in memory nobody needs it.
    for case .save(let record) in decision.changes
    where record.grant?.receipt != nil || record.original?.receipt != nil {
      store(record.withoutReceipt)
    }
    return decision
  }

  // MARK: Transactions

  private mutating func launch(_ draft: inout Draft) {
    let transactions = transactions
    for transaction in transactions {
      // Asked again, a deferred one may have been decided; nothing else would tell.
      if !isLaunched, transaction.state == .purchasing || transaction.state == .deferred {
        draft.effects.append(.purchase(transaction: transaction.id, transaction.payment))
      }
      for (position, download) in transaction.downloads.enumerated()
      where download.state == .active && workers[download.id] == nil {
        change(transaction.id, position) { $0.state = .waiting }
        draft.touched.insert(transaction.id)
      }
    }
    isLaunched = true
    draft.reportedTransactions += transactions.map(\.id)
    draft.report(downloads: transactions.flatMap { $0.downloads.map(\.id) })
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

  /// Whether an unfinished transaction is of the purchase that `grant` records.
  private func holds(_ grant: Grant) -> Bool {
    let number = grant.transactionIdentifier
    let wanted = grant.withoutReceipt
    return (granted[number] ?? []).union([number]).contains {
      transaction($0)?.grant?.withoutReceipt == wanted
    }
  }

  private mutating func restore(
    _ id: String, _ original: Grant, _ contents: [ContentOffer], _ purpose: RestorePurpose,
    _ draft: inout Draft
  ) {
    guard transaction(id) == nil else { return }
    var downloads = downloads(of: id, contents)
    switch purpose {
    case .history:
      // What is unfinished is delivered anyway; only finished purchases are history.
      if holds(original) { return }
    case .update(let switching):
      for position in downloads.indices { downloads[position].keepsCurrent = !switching }
    }
    let grant = Grant(
      transactionIdentifier: id, date: original.date, payment: original.payment,
      receipt: original.receipt)
    append(
      TransactionRecord(
        id: id, sequence: nextSequence, payment: original.payment, state: .restored, grant: grant,
        original: original, downloads: downloads),
      &draft)
  }

  private mutating func take(
    _ id: String, _ grant: Grant, _ contents: [ContentOffer], _ draft: inout Draft
  ) {
    guard transaction(id) == nil, !holds(grant) else { return }
    append(
      TransactionRecord(
        id: id, sequence: nextSequence, payment: grant.payment, state: .purchased, grant: grant,
        downloads: downloads(of: id, contents)),
      &draft)
  }

  private mutating func beginRestore(_ account: String?, _ draft: inout Draft) {
    guard !isRestoring else {
      draft.effects.append(.refuse(.restoreUnderWay))
      return
    }
    isRestoring = true
    draft.effects.append(.restore(account: account))
  }

  private mutating func endRestore(_ error: ContentError?, _ draft: inout Draft) {
    guard isRestoring else { return }
    isRestoring = false
    draft.effects.append(.reportRestoreEnded(error))
  }

  private mutating func append(_ record: TransactionRecord, _ draft: inout Draft) {
    nextSequence += 1
    store(record)
    draft.report(transaction: record.id)
    draft.report(downloads: record.downloads.map(\.id))
  }

  private mutating func answer(_ id: String, _ outcome: PurchaseOutcome, _ draft: inout Draft) {
    guard var record = transaction(id) else { return }
    switch record.state {
    case .purchasing, .deferred: break
    case .purchased, .failed, .restored: return
    }
    switch outcome {
    case .purchased(let grant, let contents):
      record.state = .purchased
      record.grant = grant
      record.downloads = downloads(of: id, contents)
    case .failed(let error):
      record.state = .failed
      record.error = error
    case .deferred:
      guard record.state != .deferred else { return }
      record.state = .deferred
    }
    store(record)
    draft.report(transaction: id)
    draft.report(downloads: record.downloads.map(\.id))
  }

  private func downloads(of id: String, _ contents: [ContentOffer]) -> [DownloadRecord] {
    contents.enumerated().map { DownloadRecord(id: "\(id)-\($0.offset + 1)", offer: $0.element) }
  }

  private mutating func finish(_ id: String, _ draft: inout Draft) {
    guard let record = transaction(id) else { return }
    switch record.state {
    case .purchasing, .deferred:
      draft.effects.append(.refuse(.cannotFinish(record)))
      return
    case .purchased, .failed, .restored: break
    }
    for position in record.downloads.indices { cancel(id, position, &draft) }
    if let last = drop(id) { draft.removed.append(last) }
  }

  // MARK: Downloads

  private mutating func start(_ place: Place, _ draft: inout Draft) {
    switch place.download.state {
    case .waiting, .paused, .failed, .cancelled: request(place, &draft)
    case .active, .finished: break
    }
  }

  private mutating func resume(_ place: Place, _ draft: inout Draft) {
    switch place.download.state {
    case .paused, .failed: request(place, &draft)
    case .waiting, .active, .finished, .cancelled: break
    }
  }

  private mutating func pause(_ place: Place, _ draft: inout Draft) {
    switch place.download.state {
    case .waiting, .active:
      set(.paused, place.record.id, place.position, &draft)
      stopWorker(of: place.download.id, discarding: false, &draft)
    case .paused, .finished, .failed, .cancelled: break
    }
  }

  private mutating func cancel(_ id: String, _ position: Int, _ draft: inout Draft) {
    guard let record = transaction(id) else { return }
    cancel(Place(record: record, position: position), &draft)
  }

  private mutating func cancel(_ place: Place, _ draft: inout Draft) {
    let download = place.download
    switch download.state {
    case .waiting, .active, .paused, .failed:
      set(.cancelled, place.record.id, place.position, &draft)
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
    let (transaction, position) = (place.record.id, place.position)
    switch (place.download.state, result) {
    case (.active, .installed), (.paused, .installed):
      // Paused too late to matter: the content is there, and says so.
      set(.finished, transaction, position, &draft)
    case (.active, .failed(let error)):
      set(.failed, transaction, position, &draft)
      change(transaction, position) { $0.error = error }
    case (.active, .stopped):
      // Nobody told it to stop, so it goes on.
      set(.waiting, transaction, position, &draft)
    case (.paused, .failed), (.paused, .stopped), (.waiting, _), (.finished, _), (.failed, _),
      (.cancelled, _):
      break
    }
  }

  private mutating func request(_ place: Place, _ draft: inout Draft) {
    switch place.record.state {
    case .purchased, .restored: break
    case .purchasing, .failed, .deferred: return
    }
    guard place.download.state != .waiting || !place.download.isRequested else { return }
    set(.waiting, place.record.id, place.position, &draft)
    change(place.record.id, place.position) { $0.isRequested = true }
  }

  /// Gives free workers to waiting downloads, in the queue's order.
  ///
  /// One content is worked on by one download at a time, since two would install into one folder
  /// and race for `current`. The second one then finds what the first has installed.
  private mutating func activateWaiting(_ draft: inout Draft) {
    guard isLaunched, workers.count < activeLimit, !line.places.isEmpty else { return }
    // The content of a download whose old worker is still stopping is busy, too.
    var busy = Set(workers.values.map(\.content))
    var turns: [WaitingLine.Place] = []
    for place in line.places {
      guard workers.count + turns.count < activeLimit else { break }
      if busy.insert(place.content).inserted { turns.append(place) }
    }
    for turn in turns {
      set(.active, turn.transaction, turn.position, &draft)
      guard let download = transaction(turn.transaction)?.downloads[turn.position] else { continue }
      workers[download.id] = Worker(content: turn.content, duty: .working)
      draft.started.append(download)
    }
  }

  private mutating func set(
    _ state: DownloadState, _ id: String, _ position: Int, _ draft: inout Draft
  ) {
    change(id, position) { download in
      download.state = state
      download.error = nil
      if state != .waiting, state != .active { download.isRequested = false }
    }
    guard let download = transaction(id)?.downloads[position] else { return }
    draft.report(download: download.id, of: id)
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

  private mutating func each(
    _ ids: [String], _ draft: inout Draft,
    _ act: (inout QueueState, Place, inout Draft) -> Void
  ) {
    for id in ids {
      guard let place = place(ofDownload: id) else { continue }
      act(&self, place, &draft)
    }
  }

  // MARK: Looking up and keeping

  /// A download, as it stood when it was looked up.
  private struct Place {
    let record: TransactionRecord
    let position: Int

    var download: DownloadRecord { record.downloads[position] }
  }

  private func place(ofDownload id: String) -> Place? {
    guard let transaction = DownloadRecord.transaction(ofDownload: id),
      let record = table[transaction],
      let position = record.downloads.firstIndex(where: { $0.id == id })
    else { return nil }
    return Place(record: record, position: position)
  }

  private mutating func change(
    _ id: String, _ position: Int, _ body: (inout DownloadRecord) -> Void
  ) {
    guard var record = table[id] else { return }
    body(&record.downloads[position])
    store(record)
  }

  /// Takes `record` as it is now; all that is derived from records is kept here and in `drop`.
  private mutating func store(_ record: TransactionRecord) {
    unlist(table[record.id])
    table[record.id] = record
    if let number = record.grant?.transactionIdentifier, number != record.id {
      granted[number, default: []].insert(record.id)
    }
    for place in Self.places(of: record) { line.insert(place) }
  }

  private mutating func drop(_ id: String) -> TransactionRecord? {
    let record = table[id]
    unlist(record)
    table[id] = nil
    return record
  }

  private mutating func unlist(_ record: TransactionRecord?) {
    guard let record else { return }
    for place in Self.places(of: record) { line.remove(place) }
    if let number = record.grant?.transactionIdentifier, number != record.id {
      granted[number]?.remove(record.id)
      if granted[number]?.isEmpty == true { granted[number] = nil }
    }
  }

  /// Where the downloads of `record` stand in line.
  private static func places(of record: TransactionRecord) -> [WaitingLine.Place] {
    var places: [WaitingLine.Place] = []
    for (position, download) in record.downloads.enumerated()
    where download.state == .waiting && download.isRequested {
      places.append(
        WaitingLine.Place(
          sequence: record.sequence, position: position, transaction: record.id,
          content: download.offer.contentIdentifier))
    }
    return places
  }
}

extension QueueState {
  /// A decision while it is being made; each transaction is saved and reported once.
  private struct Draft {
    var touched: Set<String> = []
    var reportedTransactions: [String] = []
    private(set) var reportedDownloads: [String] = []
    private var isReported: Set<String> = []
    var removed: [TransactionRecord] = []
    var started: [DownloadRecord] = []
    var effects: [QueueEffect] = []

    mutating func report(transaction id: String) {
      touched.insert(id)
      reportedTransactions.append(id)
    }

    mutating func report(download id: String, of transaction: String) {
      touched.insert(transaction)
      report(downloads: [id])
    }

    mutating func report(downloads ids: [String]) {
      for id in ids where isReported.insert(id).inserted { reportedDownloads.append(id) }
    }

    /// Reports come before the work that they announce, so that active is seen before finished.
    func decision(for state: QueueState) -> QueueDecision {
      var decision = QueueDecision()
      let gone = Set(removed.flatMap { $0.downloads.map(\.id) })
      let reportedDownloads = reportedDownloads.filter { !gone.contains($0) }
      decision.changes = removed.map { .finish($0) }
      decision.changes += touched.compactMap(state.transaction)
        .sorted { $0.sequence < $1.sequence }.map { .save($0) }
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
  static let restoreUnderWay = ContentError(
    .restoreUnderWay, "Purchases are being restored already",
    remedy: "Wait until the restore has finished or failed")

  static func cannotFinish(_ transaction: TransactionRecord) -> ContentError {
    ContentError(
      .cannotFinish,
      "The transaction for \(transaction.payment.productIdentifier) is \(transaction.state) and cannot be finished",
      remedy: "Finish it once it is purchased, failed or restored", subject: transaction.id)
  }
}
