/// The payment queue as a pure state machine, without clock, I/O and randomness.
///
/// The engine applies an event to a copy, commits the changes to the journal, keeps the copy as the
/// new state, and performs the effects. Every event is allowed in every state; an event without
/// meaning in a state changes nothing. Documentation/StateMachine.md has the complete table.
package struct QueueState: Hashable, Sendable {
  var records = QueueRecords()
  /// The maximum number of active downloads, 1 to 32.
  package private(set) var activeLimit: Int

  /// Workers by download, including downloads of removed transactions.
  var workers: [String: DownloadWorker] = [:]
  private var nextSequence: Int
  /// The running restore, or one that waits for the launch; a second one is refused.
  private var restoring: RestoreEnd?
  /// Whether the seller is notified of finished purchases.
  private let notifiesSeller: Bool
  /// Pending notices of an earlier process, sent at launch.
  private var notices: [FinishNotice]
  /// Whether the queue has an observer; nothing is requested or started before.
  private(set) var isLaunched = false

  /// More threads would only wait for the same disk and network.
  private static func bounded(_ limit: Int) -> Int { min(max(1, limit), 32) }

  /// Creates a state from the journal's transactions.
  ///
  /// `lastSequence` is the highest sequence number in the journal if unreadable records have it.
  package init(
    transactions: [TransactionRecord] = [], lastSequence: Int = 0, activeLimit: Int = 3,
    notices: [FinishNotice] = [], notifiesSeller: Bool = false
  ) {
    self.notices = notices
    self.notifiesSeller = notifiesSeller
    self.activeLimit = Self.bounded(activeLimit)
    nextSequence = max(lastSequence, transactions.lazy.map(\.sequence).max() ?? 0) + 1
    transactions.forEach { records.store($0) }
  }

  /// The unfinished transactions in order; sorted at each call, so not for use in every event.
  package var transactions: [TransactionRecord] { records.ordered }

  /// Returns the unfinished transaction `id`.
  package func transaction(_ id: String) -> TransactionRecord? { records[id] }

  /// Returns the download `id` of an unfinished transaction.
  package func download(_ id: String) -> DownloadRecord? { records.place(ofDownload: id)?.download }

  /// Applies `event` and returns the decision.
  package mutating func apply(_ event: QueueEvent) -> QueueDecision {
    var draft = DecisionDraft()
    switch event {
    case .launched: launch(&draft)
    case .paymentAdded(let id, let payment): add(id, payment, &draft)
    case .paymentRetried(let id): retry(id, &draft)
    case .restored(let id, let original, let contents, let purpose):
      restore(id, original, contents, purpose, &draft)
    case .granted(let id, let grant, let contents): take(id, grant, contents, &draft)
    case .restoreRequested(let request, let account): beginRestore(request, account, &draft)
    case .restoreLost(let error): if restoring?.error == nil { restoring?.error = error }
    case .restoreEnded(let request, let error): endRestore(request, error, &draft)
    case .purchaseAnswered(let id, let outcome): answer(id, outcome, &draft)
    case .startRequested(let ids): each(ids, &draft) { $0.start($1, &$2) }
    case .pauseRequested(let ids): each(ids, &draft) { $0.pause($1, &$2) }
    case .resumeRequested(let ids): each(ids, &draft) { $0.resume($1, &$2) }
    case .cancelRequested(let ids): each(ids, &draft) { $0.cancel($1, &$2) }
    case .finishRequested(let id): finish(id, &draft)
    case .finishAcknowledged(let id): draft.changes.append(.removeNotice(transaction: id))
    case .storeEventsHandled(let cursor): draft.changes.append(.storeCursor(cursor))
    case .contentResolved(let id, let offer): take(offer, for: id, &draft)
    case .workEnded(let id, let result): endWork(id, result, &draft)
    case .activeLimitChanged(let limit): activeLimit = Self.bounded(limit)
    case .priorityChanged(let ids, let priority):
      each(ids, &draft) { $0.setPriority(min(max(priority, -1000), 1000), $1, &$2) }
    }
    activateWaiting(&draft)
    let changes = draft.changes(in: self)
    // The journal has the receipt after the save, so drop it from memory.
    for record in changes.compactMap(\.savedRecord) where record.hasReceipt {
      records.store(record.withoutReceipt)
    }
    return QueueDecision(changes: changes, effects: draft.effects(in: self))
  }

  // MARK: Transactions

  private mutating func launch(_ draft: inout DecisionDraft) {
    let transactions = transactions
    for transaction in transactions {
      // A deferred purchase may have been decided; the only way to learn it is to ask again.
      if !isLaunched, transaction.state == .purchasing || transaction.state == .deferred {
        draft.effects.append(.purchase(transaction: transaction.id, transaction.payment))
      }
      for place in transaction.places
      where place.download.state == .active && workers[place.download.id] == nil {
        records.change(place) { $0.status = .waiting(isRequested: true) }
        draft.touched.insert(transaction.id)
      }
    }
    if !isLaunched, let restoring {
      draft.effects.append(.restore(request: restoring.request, account: restoring.account))
    }
    isLaunched = true
    if notifiesSeller { draft.effects += notices.map { .notifyFinished($0) } }
    notices = []
    draft.reportsEverything = true
  }

  private mutating func add(_ id: String, _ payment: Payment, _ draft: inout DecisionDraft) {
    guard isNew(id, &draft) else { return }
    let status: TransactionStatus = payment.refusal.map { .failed($0) } ?? .purchasing
    if case .purchasing = status, isLaunched {
      draft.effects.append(.purchase(transaction: id, payment))
    }
    append(id, payment, status, [], &draft)
  }

  /// Journals a payment that was only added in memory, then sends it to the seller.
  private func retry(_ id: String, _ draft: inout DecisionDraft) {
    guard let record = transaction(id) else { return }
    draft.touched.insert(id)
    if record.state == .purchasing, isLaunched {
      draft.effects.append(.purchase(transaction: id, record.payment))
    }
  }

  private mutating func restore(
    _ id: String, _ original: Grant, _ contents: [ContentOffer], _ purpose: RestorePurpose,
    _ draft: inout DecisionDraft
  ) {
    guard isNew(id, &draft) else {
      if purpose == .history, restoring?.error == nil { restoring?.error = .transactionExists(id) }
      return
    }
    var downloads = downloads(of: id, contents, for: original.payment)
    switch purpose {
    case .history:
      // Unfinished purchases are delivered anyway; only finished purchases are history.
      if let holder = records.holder(of: original) {
        // Report a restored transaction again, because the caller may wait for it.
        guard holder.isOfHistory else { return }
        restoring?.transactions.append(holder.id)
        return draft.reportedTransactions.append(holder.id)
      }
      restoring?.transactions.append(id)
    case .update(let switching):
      for position in downloads.indices { downloads[position].keepsCurrent = !switching }
    }
    let grant = Grant(
      transactionIdentifier: id, date: original.date, payment: original.payment,
      receipt: original.receipt)
    append(id, original.payment, .restored(grant, original: original), downloads, &draft)
  }

  private mutating func take(
    _ id: String, _ grant: Grant, _ contents: [ContentOffer], _ draft: inout DecisionDraft
  ) {
    guard isNew(id, &draft), records.holder(of: grant) == nil else { return }
    let downloads = downloads(of: id, contents, for: grant.payment)
    append(id, grant.payment, .purchased(grant), downloads, &draft)
  }

  private mutating func beginRestore(
    _ request: String, _ account: AccountID?, _ draft: inout DecisionDraft
  ) {
    guard restoring == nil else { return draft.effects.append(.refuse(.restoreUnderWay(request))) }
    restoring = RestoreEnd(request: request, account: account)
    if isLaunched { draft.effects.append(.restore(request: request, account: account)) }
  }

  private mutating func endRestore(
    _ request: String, _ error: ContentError?, _ draft: inout DecisionDraft
  ) {
    guard var end = restoring, end.request == request else { return }
    end.error = error ?? end.error
    // The history may repeat a purchase, such as one at the end of a page in the next page.
    var known: Set<String> = []
    end.transactions = end.transactions.filter { known.insert($0).inserted }
    restoring = nil
    draft.restoreEnd = end
  }

  /// Returns whether `id` is unused by unfinished transactions; otherwise refuses it.
  private func isNew(_ id: String, _ draft: inout DecisionDraft) -> Bool {
    guard transaction(id) != nil else { return true }
    draft.effects.append(.refuse(.transactionExists(id)))
    return false
  }

  private mutating func append(
    _ id: String, _ payment: Payment, _ status: TransactionStatus,
    _ downloads: [DownloadRecord], _ draft: inout DecisionDraft
  ) {
    draft.added.insert(id)
    store(
      TransactionRecord(
        id: id, sequence: nextSequence, payment: payment, status: status, downloads: downloads),
      &draft)
    nextSequence += 1
  }

  /// Stores and reports a transaction and its downloads.
  private mutating func store(_ record: TransactionRecord, _ draft: inout DecisionDraft) {
    records.store(record)
    draft.report(transaction: record.id)
    draft.report(downloads: record.downloads.map(\.id))
  }

  private mutating func answer(
    _ id: String, _ outcome: PurchaseOutcome, _ draft: inout DecisionDraft
  ) {
    guard var record = transaction(id) else { return }
    switch record.state {
    case .purchasing, .deferred: break
    case .purchased, .failed, .restored: return
    }
    switch outcome {
    case .purchased(let grant, _) where !grant.payment.answers(record.payment):
      record.status = .failed(.answerMismatch(grant.payment, to: record.payment))
    case .purchased(let grant, let contents):
      record.status = .purchased(grant)
      record.downloads = downloads(of: id, contents, for: record.payment)
      draft.changes.append(.answer(number: grant.transactionIdentifier, transaction: id))
    case .failed(let error):
      record.status = .failed(error)
    case .deferred:
      guard record.state != .deferred else { return }
      record.status = .deferred
    }
    store(record, &draft)
  }

  private func downloads(of id: String, _ contents: [ContentOffer], for payment: Payment)
    -> [DownloadRecord]
  {
    contents.enumerated().map { position, content in
      let offer = content.checked(for: payment.productIdentifier)
      return DownloadRecord(
        of: id, number: position + 1, sharing: Shared(offer),
        status: offer.problem.map { .failed($0) } ?? .waiting(isRequested: false))
    }
  }

  private mutating func finish(_ id: String, _ draft: inout DecisionDraft) {
    guard let record = transaction(id) else { return }
    switch record.state {
    case .purchasing, .deferred:
      draft.effects.append(.refuse(.cannotFinish(record)))
      return
    case .purchased, .failed, .restored: break
    }
    for place in record.places { cancel(place, &draft) }
    if let last = records.drop(id) { draft.removed.append(last) }
    guard notifiesSeller, case .purchased(let grant) = record.status else { return }
    let notice = FinishNotice(
      transaction: id, number: grant.transactionIdentifier, payment: record.payment)
    draft.changes.append(.addNotice(notice))
    draft.effects.append(.notifyFinished(notice))
  }
}
