import ContentLibrary
import ContentModel
import Dispatch
import Concurrency

/// The shell around the state machine: journals what it decides, then carries it out.
///
/// Events are decided one after the other on a serial queue of its own; those that wait together
/// are journaled together. Work runs on other threads and comes back as events. Observers are told
/// through `Delivery` and can never make the engine wait.
// Sendable because every stored variable is touched on `serial` only.
final class Engine: @unchecked Sendable {
  let environment: Environment
  let serial: any SerialLine
  let runningWork: any WorkGroup

  let library: ContentLibrary
  let journal: any QueueJournal
  let pipeline: Pipeline
  let delivery: Delivery
  let seller: Seller
  let diagnostics: Diagnostics

  /// Events that wait to be handled, in their order.
  private let inbox = Mutex(EngineInbox())
  /// What was taken out of the inbox and is handled next; in groups, since each group is one
  /// commit.
  private var taken: ArraySlice<PendingEvent> = []
  private var state: QueueState
  var jobs: [String: DownloadJob] = [:]
  var progress: ProgressReports
  /// Events that could not be journaled and must be before anything is reported of them.
  private var held = HeldEvents()
  /// Whether a timer will retry them, and whether they are retried next.
  private var (hasRetryTimer, isRetryNext) = (false, false)
  /// Whether `tick` will be called.
  var isTicking = false
  private(set) var isClosed = false
  private let closing = Atomic(false)

  /// Events that are journaled at once at most, so that neither the ticker nor `close` wait long.
  private static let groupLimit = 256

  init(
    state: QueueState, library: ContentLibrary, journal: any QueueJournal, pipeline: Pipeline,
    delivery: Delivery, service: any StoreService, sellerTimeout: Double,
    environment: Environment
  ) {
    self.environment = environment
    serial = environment.execution.line("hostedcontent.engine", on: nil)
    runningWork = environment.execution.group("hostedcontent.work")
    self.state = state
    self.library = library
    self.journal = journal
    self.pipeline = pipeline
    self.delivery = delivery
    seller = Seller(service, environment, timeout: sellerTimeout)
    diagnostics = Diagnostics(now: pipeline.clock.now)
    progress = ProgressReports(clock: pipeline.clock)
    seller.onAnswer = { [weak self] in self?.submit($0) }
    seller.onProblem = { [delivery, diagnostics] error in
      diagnostics.tell(.warning, "seller not responding") { ["order": error.subject ?? ""] }
      delivery.report(error: error)
    }
  }

  /// Takes an event from any thread; it is handled soon, in the order of submission.
  ///
  /// `onDecided` is called after everything that was decided before was handed to `delivery`, and
  /// before anything of this event is; never when the event is dropped.
  func submit(_ event: QueueEvent, onDecided: (@Sendable () -> Void)? = nil) {
    let isExpected = inbox.withLock { inbox in
      inbox.pendingEvents.append(PendingEvent(event: event, onDecided: onDecided))
      defer { inbox.isExpected = true }
      return inbox.isExpected
    }
    if !isExpected { serial.enqueue { self.handleWaiting() } }
  }

  /// Whether the queue is being closed, or is.
  var isClosing: Bool { closing.load(ordering: .relaxed) }

  /// Stops all work, keeps what was fetched, and takes no answer and no event any more.
  func stop() {
    closing.store(true, ordering: .relaxed)
    // First, so that a call that ends because the store is closed does not count as its answer.
    seller.stop()
    serial.sync {
      isClosed = true
      jobs.values.forEach { $0.stop() }
    }
  }

  /// Waits until nothing runs any more, for the service's calls at most until `deadline`.
  func wait(until deadline: DispatchTime) {
    runningWork.wait()
    seller.wait(until: deadline)
    diagnostics.close()
  }

  /// Runs `body` while no event is handled, with the versions that unfinished transactions need.
  ///
  /// Those are what a `contentURL` was given out for, or will be. Throws `stopped` once the engine
  /// is closed.
  func betweenEvents<Value>(_ body: (Set<ContentKey>) throws -> Value) throws -> Value {
    try serial.sync {
      guard !isClosed else { throw ContentError.queueClosed }
      let needed = state.transactions.flatMap(\.downloads).filter { $0.state != .cancelled }
        .map { ContentKey($0.offer.contentIdentifier, $0.offer.version) }
      return try body(Set(needed))
    }
  }

  /// Runs `body` as above, and then `finish`, which may take long, while events are handled again.
  ///
  /// `close` waits for both.
  func betweenEvents<Value, Result>(
    _ body: (Set<ContentKey>) throws -> Value, then finish: (Value) throws -> Result
  ) throws -> Result {
    let value = try betweenEvents { needed in
      let value = try body(needed)
      runningWork.enter()
      return value
    }
    defer { runningWork.leave() }
    return try finish(value)
  }

  // MARK: Deciding

  private func handleWaiting() {
    if taken.isEmpty { taken = inbox.withLock { $0.take() } }
    let pendingEvents = Array(taken.prefix(Self.groupLimit))
    taken = pendingEvents.count == taken.count ? [] : taken.dropFirst(pendingEvents.count)
    let isMore = inbox.withLock { inbox in
      inbox.isExpected = !taken.isEmpty || !inbox.pendingEvents.isEmpty
      return inbox.isExpected
    }
    if !isClosed { handle(pendingEvents.filter { !held.decides($0.event) }) }
    if isMore { serial.enqueue { self.handleWaiting() } }
  }

  private func handle(_ pendingEvents: [PendingEvent]) {
    if pendingEvents.count <= 1 || !handleTogether(pendingEvents) { pendingEvents.forEach(handle) }
  }

  /// Journals what `pendingEvents` lead to in one commit, which costs one sync instead of many, and
  /// then carries out each one's effects; false when it could not be journaled, and nothing was
  /// done.
  private func handleTogether(_ pendingEvents: [PendingEvent]) -> Bool {
    var next = state
    let steps = pendingEvents.map { pending in
      let decision = next.apply(pending.event)
      return DecidedEvent(
        pending: pending, decision: decision, reported: ReportedRecords(by: decision, in: next))
    }
    let changes = steps.flatMap(\.decision.changes)
    do {
      try commit(changes)
    } catch {
      // Alone, some of them may be written; each of the others says itself that it was not.
      return false
    }
    state = next
    for step in steps {
      if case .workEnded(let id, _) = step.pending.event { endWork(on: id) }
      diagnostics.tell(step.pending.event)
      step.pending.onDecided?()
      for effect in step.decision.effects { perform(effect, step.reported) }
    }
    return true
  }

  private func handle(_ pending: PendingEvent) {
    guard !held.decides(pending.event) else { return }
    if case .workEnded(let id, _) = pending.event { endWork(on: id) }
    var next = state
    let decision = next.apply(pending.event)
    do {
      try commit(decision.changes)
    } catch {
      return handle(pending, unwrittenAfter: error)
    }
    carryOut(decision, of: [pending.event], to: next, pending.onDecided)
  }

  private func handle(_ pending: PendingEvent, unwrittenAfter failure: any Error) {
    let (event, uncertain) = (pending.event, failure as? UncertainCommit)
    var error = ContentError(uncertain?.error ?? failure, while: "writing the journal")
    if let refused = event.refused(with: error) {
      return handle(
        PendingEvent(event: refused, onDecided: pending.onDecided, isRetry: pending.isRetry))
    }
    if error.code == .transactionExists { return delivery.report(error: error) }
    if let transaction = event.awaitedTransaction {
      error = ContentError(
        error.code, error.message, remedy: error.remedy, subject: transaction, cause: error.cause)
    }
    diagnostics.count { $0.journalFailures += 1 }
    diagnostics.tell(.error, "journal not written") { ["error": "\(error.code.rawValue)"] }
    // What was held stays held, whatever this attempt failed with: the first one may be in the log.
    if pending.isRetry { return held.hold(event, pending.onDecided) }
    delivery.report(error: error)
    var happened: [QueueEvent] = []
    switch event.fate(after: error, isCertain: uncertain == nil) {
    case .replaced(let events): happened = events
    case .held(let event, let shown):
      held.hold(event, pending.onDecided)
      startRetryTimer()
      happened = shown
    case .dropped: break
    }
    guard !happened.isEmpty else { return }
    var next = state
    var decision = happened.reduce(into: QueueDecision()) { $0.effects += next.apply($1).effects }
    // A payment that the journal does not have must not be asked for; one of a launch must be.
    if case .paymentAdded = event { decision.effects.removeAll(where: \.isPurchase) }
    carryOut(decision, of: happened, to: next, pending.onDecided)
  }

  private func carryOut(
    _ decision: QueueDecision, of events: [QueueEvent], to next: QueueState,
    _ onDecided: (@Sendable () -> Void)?
  ) {
    state = next
    events.forEach(diagnostics.tell)
    onDecided?()
    let reported = ReportedRecords(by: decision, in: state)
    for effect in decision.effects { perform(effect, reported) }
  }

  private func commit(_ changes: [JournalChange]) throws {
    guard !changes.isEmpty else { return }
    try journal.commit(changes)
    diagnostics.count { $0.journalCommits += 1 }
    retrySoon()
  }

  // MARK: Retrying

  /// Tries to journal what is held, a group at a time so that new events do not wait long.
  private func retryHeld() {
    guard !isClosed, held.count > 0 else { return }
    let before = held.count
    handle(held.take(Self.groupLimit))
    held.noteRetry(isSuccess: held.count < before)
    startRetryTimer()
  }

  private func startRetryTimer() {
    guard held.count > 0, !hasRetryTimer else { return }
    hasRetryTimer = true
    serial.enqueue(at: environment.execution.now + held.delay) { [weak self] in
      self?.hasRetryTimer = false
      self?.retryHeld()
    }
  }

  /// Retries what is held without delay, since the journal can be written again.
  private func retrySoon() {
    guard held.count > 0, !isRetryNext else { return }
    isRetryNext = true
    serial.enqueue { [weak self] in
      self?.isRetryNext = false
      self?.retryHeld()
    }
  }

  // MARK: Acting

  private func perform(_ effect: QueueEffect, _ reported: ReportedRecords) {
    switch effect {
    case .purchase(let id, let payment):
      if !held.isHeld(id) { seller.purchase(payment, transaction: id) }
    case .notifyFinished(let notice): seller.notifyFinished(notice)
    case .restore(let request, let account): seller.restore(request: request, account: account)
    case .reportRestoreEnded(let end):
      delivery.report(end, found: end.transactions.compactMap { reported[$0] })
    case .startWork(let download): startWork(on: download)
    case .stopWork(let id): jobs[id]?.stop()
    case .setPriority(let id, let priority): jobs[id]?.ticket.priority = priority
    case .discardStaging(let id): discardStaging(for: id)
    case .reportEverything: delivery.report(everything: reported.everything)
    case .reportTransactions(let ids):
      delivery.report(transactions: ids.compactMap { reported[$0] })
    case .reportDownloads(let ids):
      let owners = Set(ids.compactMap { DownloadRecord.transaction(ofDownload: $0) })
        .compactMap { reported[$0] }.sorted { $0.sequence < $1.sequence }
      delivery.report(downloads: ids, of: owners)
    case .reportRemoved(let records): delivery.report(removed: records)
    case .refuse(let error): delivery.report(error: error)
    }
  }
}
