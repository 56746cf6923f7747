/// The payment queue as a pure state machine, without clock, I/O and randomness.
///
/// The engine applies an event to a copy, commits the changes to the journal, keeps the copy as the
/// new state, and performs the effects. Every event is allowed in every state; an event without
/// meaning in a state changes nothing. Documentation/StateMachine.md has the complete table.
package struct QueueState: Hashable, Sendable {
  private var records = QueueRecords()
  /// The maximum number of active downloads, 1 to 32.
  package private(set) var activeLimit: Int

  /// Workers by download, including downloads of removed transactions.
  private var workers: [DownloadID: DownloadWorker] = [:]
  private var nextSequence: Int
  /// The running restore, or one that waits for the launch; a second one is refused.
  private var restoring: RestoreEnd?
  private let notifiesService: Bool
  /// Pending notices of an earlier process, sent at launch.
  private var notices: [FinishNotice]
  /// Whether the queue has an observer; nothing is requested or started before.
  private var isLaunched = false

  /// More threads would only wait for the same disk and network.
  private static func bounded(_ limit: Int) -> Int { min(max(1, limit), 32) }

  /// Creates a state from the journal's transactions.
  ///
  /// `lastSequence` is the highest sequence number in the journal if unreadable records have it.
  package init(
    transactions: [TransactionRecord] = [], lastSequence: Int = 0, activeLimit: Int = 3,
    notices: [FinishNotice] = [], notifiesService: Bool = false
  ) {
    self.notices = notices
    self.notifiesService = notifiesService
    self.activeLimit = Self.bounded(activeLimit)
    nextSequence = max(lastSequence, transactions.lazy.map(\.sequence).max() ?? 0) + 1
    transactions.forEach { records.store($0) }
  }

  /// The unfinished transactions in order; sorted at each call, so not for use in every event.
  package var transactions: [TransactionRecord] { records.ordered }

  package func transaction(_ id: TransactionID) -> TransactionRecord? { records[id] }

  package func download(_ id: DownloadID) -> DownloadRecord? {
    records.place(ofDownload: id)?.download
  }

  /// Returns whether a worker fetches and installs the download `id`, or is stopping.
  package func hasWorker(_ id: DownloadID) -> Bool { workers[id] != nil }

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
      where place.download.state == .active && !hasWorker(place.download.id) {
        records.change(place) { $0.status = .waiting(isRequested: true) }
        draft.touched.insert(transaction.id)
      }
    }
    if !isLaunched, let restoring {
      draft.effects.append(.restore(request: restoring.request, account: restoring.account))
    }
    isLaunched = true
    if notifiesService { draft.effects += notices.map { .notifyFinished($0) } }
    notices = []
    draft.reportsEverything = true
  }

  private mutating func add(_ id: TransactionID, _ payment: Payment, _ draft: inout DecisionDraft) {
    guard isNew(id, &draft) else { return }
    let status: TransactionStatus = payment.refusal.map { .failed($0) } ?? .purchasing
    if case .purchasing = status, isLaunched {
      draft.effects.append(.purchase(transaction: id, payment))
    }
    append(id, payment, status, [], &draft)
  }

  /// Journals a payment that was only added in memory, then sends it to the service.
  private func retry(_ id: TransactionID, _ draft: inout DecisionDraft) {
    guard let record = transaction(id) else { return }
    draft.touched.insert(id)
    if record.state == .purchasing, isLaunched {
      draft.effects.append(.purchase(transaction: id, record.payment))
    }
  }

  private mutating func restore(
    _ id: TransactionID, _ original: Grant, _ contents: [ContentOffer], _ purpose: RestorePurpose,
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
      transactionIdentifier: id.rawValue, date: original.date, payment: original.payment,
      receipt: original.receipt)
    append(id, original.payment, .restored(grant, original: original), downloads, &draft)
  }

  private mutating func take(
    _ id: TransactionID, _ grant: Grant, _ contents: [ContentOffer], _ draft: inout DecisionDraft
  ) {
    guard isNew(id, &draft), records.holder(of: grant) == nil else { return }
    let downloads = downloads(of: id, contents, for: grant.payment)
    append(id, grant.payment, .purchased(grant), downloads, &draft)
  }

  private mutating func beginRestore(
    _ request: RestoreID, _ account: AccountID?, _ draft: inout DecisionDraft
  ) {
    guard restoring == nil else { return draft.effects.append(.refuse(.restoreUnderWay(request))) }
    restoring = RestoreEnd(request: request, account: account)
    if isLaunched { draft.effects.append(.restore(request: request, account: account)) }
  }

  private mutating func endRestore(
    _ request: RestoreID, _ error: ContentError?, _ draft: inout DecisionDraft
  ) {
    guard var end = restoring, end.request == request else { return }
    end.error = error ?? end.error
    // The history may repeat a purchase, such as one at the end of a page in the next page.
    var known: Set<TransactionID> = []
    end.transactions = end.transactions.filter { known.insert($0).inserted }
    restoring = nil
    draft.restoreEnd = end
  }

  /// Returns whether `id` is unused by unfinished transactions; otherwise refuses it.
  private func isNew(_ id: TransactionID, _ draft: inout DecisionDraft) -> Bool {
    guard transaction(id) != nil else { return true }
    draft.effects.append(.refuse(.transactionExists(id)))
    return false
  }

  private mutating func append(
    _ id: TransactionID, _ payment: Payment, _ status: TransactionStatus,
    _ downloads: [DownloadRecord], _ draft: inout DecisionDraft
  ) {
    draft.added.insert(id)
    store(
      TransactionRecord(
        id: id, sequence: nextSequence, payment: payment, status: status, downloads: downloads),
      &draft)
    nextSequence += 1
  }

  private mutating func store(_ record: TransactionRecord, _ draft: inout DecisionDraft) {
    records.store(record)
    draft.report(transaction: record.id)
    draft.report(downloads: record.downloads.map(\.id))
  }

  private mutating func answer(
    _ id: TransactionID, _ outcome: PurchaseOutcome, _ draft: inout DecisionDraft
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
    case .undecided: return
    }
    store(record, &draft)
  }

  private func downloads(of id: TransactionID, _ contents: [ContentOffer], for payment: Payment)
    -> [DownloadRecord]
  {
    contents.enumerated().map { position, content in
      let offer = content.checked(for: payment.productIdentifier)
      return DownloadRecord(
        of: id, number: position + 1, sharing: Shared(offer),
        status: offer.problem.map { .failed($0) } ?? .waiting(isRequested: false))
    }
  }

  private mutating func finish(_ id: TransactionID, _ draft: inout DecisionDraft) {
    guard let record = transaction(id) else { return }
    switch record.state {
    case .purchasing, .deferred:
      draft.effects.append(.refuse(.cannotFinish(record)))
      return
    case .purchased, .failed, .restored: break
    }
    for place in record.places { cancel(place, &draft) }
    if let last = records.drop(id) { draft.removed.append(last) }
    guard notifiesService, case .purchased(let grant) = record.status else { return }
    let notice = FinishNotice(
      transaction: id, number: grant.transactionIdentifier, payment: record.payment)
    draft.changes.append(.addNotice(notice))
    draft.effects.append(.notifyFinished(notice))
  }

  // MARK: Downloads

  private mutating func start(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    switch place.download.state {
    case .waiting, .paused, .failed, .cancelled: request(place, &draft)
    case .active, .finished: break
    }
  }

  private mutating func resume(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    switch place.download.state {
    case .paused, .failed: request(place, &draft)
    case .waiting, .active, .finished, .cancelled: break
    }
  }

  private mutating func request(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    switch place.record.state {
    case .purchased, .restored:
      if !place.download.isRequested { set(.waiting(isRequested: true), place, &draft) }
    case .purchasing, .failed, .deferred: break
    }
  }

  private mutating func pause(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    switch place.download.state {
    case .waiting, .active:
      set(.paused, place, &draft)
      stopWorker(of: place.download.id, .keepingData, &draft)
    case .paused, .finished, .failed, .cancelled: break
    }
  }

  private mutating func cancel(_ place: DownloadPlace, _ draft: inout DecisionDraft) {
    let download = place.download
    switch download.state {
    case .waiting, .active, .paused, .failed:
      set(.cancelled, place, &draft)
      if !hasWorker(download.id) {
        draft.effects.append(.discardStaging(download: download.id))
      } else {
        stopWorker(of: download.id, .discardingData, &draft)
      }
    case .finished, .cancelled: break
    }
  }

  /// The priority does not survive a launch, so it is neither journaled nor reported.
  private mutating func setPriority(
    _ priority: Int, _ place: DownloadPlace, _ draft: inout DecisionDraft
  ) {
    records.change(place) { $0.priority = Int32(priority) }
    draft.effects.append(.setPriority(download: place.download.id, priority))
  }

  private mutating func take(
    _ offer: ContentOffer, for id: DownloadID, _ draft: inout DecisionDraft
  ) {
    guard let place = records.place(ofDownload: id), place.download.offer.problem != nil else {
      return
    }
    records.change(place) { $0.offer = offer }
    draft.report(download: id, of: place.record.id)
  }

  private mutating func endWork(
    _ id: DownloadID, _ result: WorkResult, _ draft: inout DecisionDraft
  ) {
    guard let worker = workers.removeValue(forKey: id) else { return }
    if worker.stop == .discardingData { draft.effects.append(.discardStaging(download: id)) }
    guard let place = records.place(ofDownload: id) else { return }
    switch (place.download.state, result) {
    case (.active, .installed), (.paused, .installed):
      // The pause came too late: the content is installed.
      set(.finished, place, &draft)
      for other in records.waiting(like: place.download) {
        set(.finished, other, &draft)
        draft.effects.append(.discardStaging(download: other.download.id))
      }
    case (.active, .failed(let error)):
      set(.failed(error), place, &draft)
    case (.active, .stopped):
      // A stop without a request: continue the download.
      set(.waiting(isRequested: true), place, &draft)
    case (.paused, .failed), (.paused, .stopped), (.waiting, _), (.finished, _), (.failed, _),
      (.cancelled, _):
      break
    }
  }

  /// Assigns free workers to waiting downloads, in the queue's order.
  ///
  /// Each content is downloaded by one worker at a time. Two workers would install into the same
  /// folder and compete for `current`. The second download then finds the installed content.
  private mutating func activateWaiting(_ draft: inout DecisionDraft) {
    guard isLaunched, workers.count < activeLimit, !records.line.places.isEmpty else { return }
    // A content is also busy while its previous worker is stopping.
    var busy = Set(workers.values.map(\.content))
    // Skip the many downloads that may wait for a busy content.
    let limit = min(activeLimit - workers.count, records.line.contentCount(besides: busy))
    var turns: [DownloadPlace] = []
    for place in records.line.places {
      guard turns.count < limit else { break }
      if busy.insert(place.content).inserted { turns.append(place) }
    }
    for turn in turns {
      guard let download = set(.active, turn, &draft) else { continue }
      workers[download.id] = DownloadWorker(content: turn.content)
      draft.started.append(download)
    }
  }

  /// Sets the status of a download, and returns the download.
  @discardableResult
  private mutating func set(
    _ status: DownloadStatus, _ place: DownloadPlace, _ draft: inout DecisionDraft
  ) -> DownloadRecord? {
    records.change(place) { $0.status = status }
    guard let download = transaction(place.record.id)?.downloads[place.position] else { return nil }
    draft.report(download: download.id, of: place.record.id)
    return download
  }

  private mutating func stopWorker(
    of id: DownloadID, _ stop: DownloadWorker.Stop, _ draft: inout DecisionDraft
  ) {
    guard let worker = workers[id] else { return }
    if worker.stop == nil { draft.effects.append(.stopWork(download: id)) }
    if worker.stop != .discardingData { workers[id]?.stop = stop }
  }

  /// Returns the account of a download, and other contents that the account needs soon.
  ///
  /// At most `limit`: those of downloads with a worker, and of the next ones that wait for one.
  package func needs(of id: DownloadID, limit: Int) -> (account: AccountID?, ahead: [ContentOffer])
  {
    let account = records.place(ofDownload: id)?.record.payment.applicationUsername
    guard limit > 0 else { return (account, []) }
    let active = workers.keys.compactMap { records.place(ofDownload: $0) }
    // A long line is not searched to its end.
    let waiting = records.line.places.prefix(4 * limit)
    let ahead = (active + waiting).filter { place in
      place.download.id != id && place.download.offer.problem == nil
        && place.record.payment.applicationUsername == account
    }
    return (account, ahead.prefix(limit).map(\.download.offer))
  }

  private mutating func each(
    _ ids: [DownloadID], _ draft: inout DecisionDraft,
    _ act: (inout QueueState, DownloadPlace, inout DecisionDraft) -> Void
  ) {
    for id in ids {
      guard let place = records.place(ofDownload: id) else { continue }
      act(&self, place, &draft)
    }
  }
}

private struct DownloadWorker: Hashable {
  let content: ProductIdentifier
  /// What happens to fetched data after a requested stop; nil while it is running.
  var stop: Stop?

  enum Stop { case keepingData, discardingData }
}

/// A decision in progress; each transaction is saved and reported once.
private struct DecisionDraft {
  var touched: Set<TransactionID> = []
  var added: Set<TransactionID> = []
  /// Whether to report all unfinished transactions, instead of listing 100,000 identifiers.
  var reportsEverything = false
  var reportedTransactions: [TransactionID] = []
  private(set) var reportedDownloads: [DownloadID] = []
  private var isReported: Set<DownloadID> = []
  var removed: [TransactionRecord] = []
  /// Changes other than those of records, such as the order that belongs to a seller's number.
  var changes: [JournalChange] = []
  var started: [DownloadRecord] = []
  var restoreEnd: RestoreEnd?
  var effects: [QueueEffect] = []

  mutating func report(transaction id: TransactionID) {
    touched.insert(id)
    reportedTransactions.append(id)
  }

  mutating func report(download id: DownloadID, of transaction: TransactionID) {
    touched.insert(transaction)
    report(downloads: [id])
  }

  mutating func report(downloads ids: [DownloadID]) {
    for id in ids where isReported.insert(id).inserted { reportedDownloads.append(id) }
  }

  func changes(in state: QueueState) -> [JournalChange] {
    var changes: [JournalChange] = removed.map { .finish($0) }
    changes += self.changes
    changes += touched.compactMap(state.transaction).sorted { $0.sequence < $1.sequence }
      .map { added.contains($0.id) ? .add($0) : .save($0) }
    return changes
  }

  /// Returns the effects, with the transactions of `state`.
  ///
  /// Reports precede the start of work, so active is seen before finished.
  func effects(in state: QueueState) -> [QueueEffect] {
    var effects: [QueueEffect] = []
    if reportsEverything { effects.append(.reportEverything(state.transactions)) }
    if !reportedTransactions.isEmpty {
      effects.append(.reportTransactions(reportedTransactions.compactMap(state.transaction)))
    }
    let removedDownloads = Set(removed.flatMap { $0.downloads.map(\.id) })
    let downloads = reportedDownloads.filter { !removedDownloads.contains($0) }
    if !downloads.isEmpty {
      let owners = Set(downloads.map(\.transaction))
        .compactMap(state.transaction).sorted { $0.sequence < $1.sequence }
      effects.append(.reportDownloads(downloads, of: owners))
    }
    if !removed.isEmpty { effects.append(.reportRemoved(removed)) }
    effects += self.effects
    if let restoreEnd {
      let found = restoreEnd.transactions.compactMap(state.transaction)
      effects.append(.reportRestoreEnded(restoreEnd, found: found))
    }
    effects += started.map { .startWork($0) }
    return effects
  }
}

/// Compares a store service's response with its order, and contents with the product of the order.
extension Payment {
  /// Returns whether a grant of this payment matches `order` in product, quantity and account.
  package func answers(_ order: Payment) -> Bool {
    productIdentifier == order.productIdentifier && quantity == order.quantity
      && applicationUsername == order.applicationUsername
  }

  /// The difference to `order`, as a clause of an error.
  package func difference(from order: Payment) -> String {
    let isOfAccount = applicationUsername == order.applicationUsername
    return "expected \(order.quantity) of \(order.productIdentifier), found \(quantity) of "
      + "\(productIdentifier)\(isOfAccount ? "" : " for another account")"
  }
}

extension ContentOffer {
  /// Returns the offer, or an unresolved offer if it belongs to another product.
  fileprivate func checked(for product: ProductIdentifier) -> ContentOffer {
    guard productIdentifier != product else { return self }
    return unresolved(for: product, because: .notOffered(contentIdentifier, of: product))
  }
}

extension ContentError {
  /// The service's response grants something other than the order.
  fileprivate static func answerMismatch(_ answer: Payment, to order: Payment) -> ContentError {
    ContentError(
      .answerMismatch,
      "The store service's response does not match the order: \(answer.difference(from: order))",
      remedy: "Report it to the seller. Restore the purchase if it was paid for",
      subject: order.productIdentifier.rawValue)
  }

  /// The service used the number of another order.
  package static func numberReused(_ number: String) -> ContentError {
    ContentError(
      .answerMismatch,
      "The store service's response has the transaction number \(number) of another order",
      remedy: "Report it to the seller. Restore the purchase if it was paid for")
  }

  /// The catalog does not have the content that the service named for the product.
  package static func notOffered(
    _ content: ProductIdentifier, of product: ProductIdentifier
  ) -> ContentError {
    ContentError(
      .answerMismatch, "The store does not offer the content \(content) for \(product)",
      remedy: "Start the download again once the store offers it, or finish the transaction",
      subject: product.rawValue)
  }

  fileprivate static func restoreUnderWay(_ request: RestoreID) -> ContentError {
    ContentError(
      .restoreUnderWay, "A restore of purchases is already running",
      remedy: "Wait until it has finished or failed", subject: request.rawValue)
  }

  fileprivate static func cannotFinish(_ transaction: TransactionRecord) -> ContentError {
    ContentError(
      .cannotFinish,
      "Cannot finish the transaction for \(transaction.payment.productIdentifier): "
        + "it is \(transaction.state)",
      remedy: "Finish it once it is purchased, failed or restored", subject: transaction.id.rawValue
    )
  }

  /// A new transaction has the identifier of another one, which may be finished.
  package static func transactionExists(_ id: TransactionID) -> ContentError {
    ContentError(
      .transactionExists, "A transaction with the identifier \(id) already exists",
      remedy: "Try again; each transaction needs a new identifier", subject: id.rawValue)
  }
}

/// The unfinished transactions, with indexes so that events do not scan all of them.
struct QueueRecords: Hashable, Sendable {
  private var table = TransactionTable()
  /// Requested downloads that wait for a free worker.
  private(set) var line = WaitingLine()
  /// Transactions by the seller's number, if it differs from their identifier.
  private var purchases: [String: Set<TransactionID>] = [:]

  /// All transactions in order; sorted at each call, so not for use in every event.
  var ordered: [TransactionRecord] { table.ordered }

  subscript(id: TransactionID) -> TransactionRecord? { table[id] }

  func place(ofDownload id: DownloadID) -> DownloadPlace? {
    guard let record = table[id.transaction],
      let position = record.downloads.firstIndex(where: { $0.id == id })
    else { return nil }
    return DownloadPlace(record: record, position: position)
  }

  /// Returns waiting downloads that become finished together with `download`.
  ///
  /// The last come first, because removing from the end of the line is cheap.
  func waiting(like download: DownloadRecord) -> [DownloadPlace] {
    line.places(of: download.offer.contentIdentifier).reversed()
      .filter { $0.download.installsSame(as: download) }
  }

  /// Returns the first transaction that delivers `grant`: its own, or a restored one.
  func holder(of grant: Grant) -> TransactionRecord? {
    let number = grant.transactionIdentifier
    let wanted = grant.withoutReceipt
    return (purchases[number] ?? []).union([TransactionID(rawValue: number)]).compactMap {
      table[$0]
    }
    .filter { $0.purchase?.withoutReceipt == wanted }
    .min { $0.sequence < $1.sequence }
  }

  /// Stores `record`, and updates the indexes; only `store` and `drop` change them.
  mutating func store(_ record: TransactionRecord) {
    unlist(table[record.id])
    table[record.id] = record
    if let number = record.purchaseNumber {
      purchases[number, default: []].insert(record.id)
    }
    for place in record.places where place.download.isRequested { line.insert(place) }
  }

  mutating func drop(_ id: TransactionID) -> TransactionRecord? {
    let record = table[id]
    unlist(record)
    table[id] = nil
    return record
  }

  /// Changes the download at `place`, whose record may have changed since.
  mutating func change(_ place: DownloadPlace, _ body: (inout DownloadRecord) -> Void) {
    guard var record = table[place.record.id] else { return }
    body(&record.downloads[place.position])
    store(record)
  }

  private mutating func unlist(_ record: TransactionRecord?) {
    guard let record else { return }
    for place in record.places where place.download.isRequested { line.remove(place) }
    if let number = record.purchaseNumber {
      purchases[number]?.remove(record.id)
      if purchases[number]?.isEmpty == true { purchases[number] = nil }
    }
  }
}

extension TransactionRecord {
  var places: [DownloadPlace] {
    downloads.indices.map { DownloadPlace(record: self, position: $0) }
  }

  /// Whether a restore created it, and not an update, which sets `keepsCurrent`.
  package var isOfHistory: Bool {
    state == .restored && downloads.allSatisfy { $0.keepsCurrent == nil }
  }

  /// The purchase that it delivers; nil before it is granted.
  fileprivate var purchase: Grant? { isOfHistory ? original : grant }

  /// The seller's number of the purchase, if it differs from the identifier.
  fileprivate var purchaseNumber: String? {
    purchase.flatMap { $0.transactionIdentifier == id.rawValue ? nil : $0.transactionIdentifier }
  }
}

extension DownloadRecord {
  /// Returns whether it installs the same version of the same content in the same way.
  fileprivate func installsSame(as other: DownloadRecord) -> Bool {
    offer.problem == nil && offer.version.rawValue == other.offer.version.rawValue
      && offer.withdrawnVersions == other.offer.withdrawnVersions
      && offer.productIdentifier == other.offer.productIdentifier
      && (keepsCurrent == true) == (other.keepsCurrent == true)
  }
}

/// A download in the queue, as it was when it was looked up.
///
/// Places of equal rank in the line are equal.
struct DownloadPlace: Hashable, Sendable {
  let record: TransactionRecord
  /// The position in its transaction.
  let position: Int

  var download: DownloadRecord { record.downloads[position] }

  var content: ProductIdentifier { download.offer.contentIdentifier }

  fileprivate var rank: (Int32, Int, Int) { (-download.priority, record.sequence, position) }

  static func == (left: Self, right: Self) -> Bool { left.rank == right.rank }

  func hash(into hasher: inout Hasher) {
    hasher.combine(record.sequence)
    hasher.combine(position)
  }
}

/// Requested downloads that wait for a free worker, by priority, then in the queue's order.
struct WaitingLine: Hashable, Sendable {
  /// A slice, because most are removed from its start, which then moves no others.
  private(set) var places: ArraySlice<DownloadPlace> = []
  /// The number of waiting downloads of each content.
  private var counts: [ProductIdentifier: Int] = [:]

  mutating func insert(_ place: DownloadPlace) {
    let index = index(of: place)
    if index < places.endIndex, places[index] == place { return }
    places.insert(place, at: index)
    counts[place.content, default: 0] += 1
  }

  mutating func remove(_ place: DownloadPlace) {
    let index = index(of: place)
    guard index < places.endIndex, places[index] == place else { return }
    let content = places[index].content
    if index == places.startIndex { places.removeFirst() } else { places.remove(at: index) }
    // Frees the records before the start.
    if places.startIndex > places.count { places = ArraySlice(Array(places)) }
    let count = (counts[content] ?? 0) - 1
    counts[content] = count > 0 ? count : nil
  }

  func places(of content: ProductIdentifier) -> [DownloadPlace] {
    counts[content] == nil ? [] : places.filter { $0.content == content }
  }

  func contentCount(besides busy: Set<ProductIdentifier>) -> Int {
    counts.count - busy.count { counts[$0] != nil }
  }

  /// Returns the index of `place`, or where to insert it.
  private func index(of place: DownloadPlace) -> Int {
    places.partitionPoint { $0.rank < place.rank }
  }
}

/// Unfinished transactions by identifier, efficient for large numbers.
///
/// Copies share unchanged parts. The engine keeps the state before an event until the journal has
/// the state after it, and must not copy the whole table for that.
private struct TransactionTable: Hashable, Sendable {
  /// Small dictionaries; a change copies only one of them.
  private var shards = [[TransactionID: TransactionRecord]](repeating: [:], count: Self.shardCount)

  private static let shardCount = 512

  subscript(id: TransactionID) -> TransactionRecord? {
    get { shards[Self.shard(of: id)][id] }
    set { shards[Self.shard(of: id)][id] = newValue }
  }

  var ordered: [TransactionRecord] {
    shards.joined().map { (sequence: $0.value.sequence, record: $0.value) }
      .sorted { $0.sequence < $1.sequence }.map(\.record)
  }

  private static func shard(of id: TransactionID) -> Int {
    Int(UInt(bitPattern: id.hashValue) % UInt(shardCount))
  }
}
