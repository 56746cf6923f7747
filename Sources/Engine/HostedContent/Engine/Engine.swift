import HostedLibrary
import HostedModel
import Dispatch
import HostedConcurrency

/// Applies events to the state machine, journals the changes, and performs the effects.
///
/// Events are applied one after the other on a private serial queue. Events that wait together
/// share one commit. Downloads run on other threads and report back as events. Observers are called
/// by `Delivery`, so they can never block the engine.
// Sendable because stored variables are accessed only on `serial`.
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
  let revokedContent: RevokedContentPolicy

  /// Submitted events, in order; handled in groups with one commit per group.
  private let inbox = Mutex(EngineInbox())
  private(set) var state: QueueState
  /// By the download's identifier.
  var running: [String: RunningDownload] = [:]
  /// Events that failed to be journaled; they are reported only after they are journaled.
  private var held = HeldEvents()
  /// Whether a retry timer is set, and whether a retry is enqueued.
  private var (hasRetryTimer, isRetryNext) = (false, false)
  /// Failed transactions whose purchases were delivered as other transactions.
  var redelivered: Set<String> = []
  /// The number of removals in progress for each revoked product.
  var removals: [ProductIdentifier: Int] = [:]
  /// Whether a call of `tick` is scheduled.
  var isTicking = false
  private(set) var isClosed = false
  private let closing = Atomic(false)
  /// Transactions without an outcome that an earlier queue may have sent to the seller.
  private let earlierOrders: Set<String>

  /// The maximum number of events per commit, so that the ticker and `close` do not wait long.
  private static let groupLimit = 256

  init(
    of opened: OpenedLibrary, _ configuration: PaymentQueue.Configuration,
    contents: SignedContents?, sources: ContentSources, delivery: Delivery,
    service: any StoreService
  ) {
    let (environment, queue) = (configuration.environment, opened.queue)
    self.environment = environment
    serial = environment.execution.line("hostedcontent.engine", on: nil)
    runningWork = environment.execution.group()
    state = QueueState(
      transactions: queue.transactions, lastSequence: queue.lastSequence,
      activeLimit: configuration.activeLimit, notices: queue.notices,
      notifiesSeller: service.needsFinishes)
    earlierOrders = Set(
      queue.transactions.filter { $0.state == .purchasing || $0.state == .deferred }.map(\.id))
    library = opened.library
    journal = opened.journal
    pipeline = Pipeline(
      library: opened.library, contents: contents, sources: sources, clock: configuration.clock,
      workers: environment.assemblyWorkers)
    self.delivery = delivery
    revokedContent = configuration.revokedContent
    seller = Seller(service, environment, timeout: configuration.sellerTimeout.inSeconds)
    diagnostics = Diagnostics(now: configuration.clock.now)
    seller.start(
      Seller.Receiver(
        onOutcome: { [weak self] in self?.answer($0, $1) },
        onAnswer: { [weak self] in self?.submit($0) },
        onProblem: { [delivery, diagnostics] error in
          diagnostics.log(.warning, "seller not responding") { ["order": error.subject ?? ""] }
          delivery.report(error: error)
        }))
  }

  /// Submits an event from any thread; events are handled in the order of submission.
  ///
  /// `onDecided` is called after the results of all earlier events were passed to `delivery` and
  /// before any result of this event. It is not called if the event is dropped.
  func submit(_ event: QueueEvent, onDecided: (@Sendable () -> Void)? = nil) {
    let isExpected = inbox.withLock { inbox in
      inbox.pendingEvents.append(PendingEvent(event: event, onDecided: onDecided))
      defer { inbox.isExpected = true }
      return inbox.isExpected
    }
    if !isExpected { serial.enqueue { self.handleWaiting() } }
  }

  /// Whether the queue is closing or closed.
  var isClosing: Bool { closing.load(ordering: .relaxed) }

  /// Stops all downloads, keeps fetched data, and ignores later responses and events.
  func stop() {
    closing.store(true, ordering: .relaxed)
    // Stop the seller first, so that a call that fails because of closing does not count as a
    // response.
    seller.stop()
    serial.sync {
      isClosed = true
      running.values.forEach { $0.job.stop() }
    }
  }

  /// Waits until all work has ended; waits for the service's calls until `deadline` at most.
  func wait(until deadline: DispatchTime) {
    runningWork.wait()
    seller.wait(until: deadline)
    diagnostics.close()
  }

  /// Waits until the service has acknowledged finished purchases, until `deadline` at most.
  func waitForNotices(until deadline: DispatchTime) {
    // The notices of finished transactions follow their reports. A commit may hang.
    let areSent = environment.execution.signal()
    serial.enqueue { areSent.send() }
    areSent.wait(until: deadline)
    seller.waitForNotices(until: deadline)
  }

  /// Runs `body` between events, with the versions that unfinished transactions need.
  ///
  /// Their `contentURL` was given out or will be. Throws `stopped` if the engine is closed.
  func betweenEvents<Value>(_ body: (Set<ContentKey>) throws -> Value) throws -> Value {
    try serial.sync {
      guard !isClosed else { throw ContentError.queueClosed }
      let needed = state.transactions.flatMap(\.downloads).filter { $0.state != .cancelled }
      return try body(Set(needed.map(\.content)))
    }
  }

  /// Runs `body` between events, then `finish` while events are handled again.
  ///
  /// `finish` may take long. `close` waits for both.
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

  // MARK: Handling events

  private func handleWaiting() {
    let (taken, hasMore) = inbox.withLock { inbox in
      (inbox.take(Self.groupLimit), inbox.isExpected)
    }
    if !isClosed { handle(taken.events.filter { !held.dropIfHeld($0) }) }
    if hasMore { serial.enqueue { self.handleWaiting() } }
  }

  /// Journals the changes of `pendingEvents` in one commit, then performs the effects of each.
  ///
  /// If the commit fails, tries each event alone: some may succeed, the others report why not.
  private func handle(_ pendingEvents: [PendingEvent]) {
    var next = state
    let decisions = pendingEvents.map { next.apply($0.event) }
    do {
      try commit(decisions.flatMap(\.changes))
    } catch {
      if pendingEvents.count == 1 { return handle(pendingEvents[0], unwrittenAfter: error) }
      for pending in pendingEvents where !held.dropIfHeld(pending) { handle([pending]) }
      return
    }
    state = next
    for (pending, decision) in zip(pendingEvents, decisions) {
      carryOut(decision.effects, of: [pending.event], pending.onDecided)
    }
  }

  private func handle(_ pending: PendingEvent, unwrittenAfter failure: any Error) {
    let (event, uncertain) = (pending.event, failure as? UncertainCommit)
    var error = ContentError(uncertain?.error ?? failure, while: "writing the journal")
    if case .workEnded(let id, _) = event { endWork(on: id) }
    if let refused = event.refused(with: error) {
      return handle([
        PendingEvent(event: refused, onDecided: pending.onDecided, isRetry: pending.isRetry)
      ])
    }
    if error.code == .transactionExists { return delivery.report(error: error) }
    if let transaction = event.awaitedTransaction {
      error = ContentError(
        error.code, error.message, remedy: error.remedy, subject: transaction, cause: error.cause)
    }
    diagnostics.count { $0.journalFailures += 1 }
    diagnostics.log(.error, "journal not written") { ["error": "\(error.code.rawValue)"] }
    // A held event stays held after any error, because its first attempt may be in the log.
    if pending.isRetry { return held.hold(event, pending.onDecided) }
    delivery.report(error: error)
    let (shown, later) = event.handling(after: error, isCertain: uncertain == nil)
    if let later {
      held.hold(later, pending.onDecided)
      startRetryTimer()
    }
    guard !shown.isEmpty else { return }
    var effects = shown.flatMap { state.apply($0).effects }
    // Do not ask the seller about a payment that is not journaled. After a launch, do ask.
    if case .paymentAdded = event {
      effects.removeAll { if case .purchase = $0 { true } else { false } }
    }
    carryOut(effects, of: shown, pending.onDecided)
  }

  private func carryOut(
    _ effects: [QueueEffect], of events: [QueueEvent], _ onDecided: (@Sendable () -> Void)?
  ) {
    for case .workEnded(let id, _) in events { endWork(on: id) }
    events.forEach(diagnostics.log)
    onDecided?()
    effects.forEach(perform)
  }

  private func commit(_ changes: [JournalChange]) throws {
    guard !changes.isEmpty else { return }
    try journal.commit(changes)
    diagnostics.count { $0.journalCommits += 1 }
    retrySoon()
  }

  // MARK: Retrying

  /// Tries to journal held events, in groups so that new events do not wait long.
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

  /// Retries held events without delay, because the journal is writable again.
  private func retrySoon() {
    guard held.count > 0, !isRetryNext else { return }
    isRetryNext = true
    serial.enqueue { [weak self] in
      self?.isRetryNext = false
      self?.retryHeld()
    }
  }

  // MARK: Effects

  private func perform(_ effect: QueueEffect) {
    switch effect {
    case .purchase(let id, let payment):
      if !held.isHeld(id) {
        seller.purchase(payment, transaction: id, isRepeated: earlierOrders.contains(id))
      }
    case .notifyFinished(let notice): seller.notifyFinished(notice)
    case .restore(let request, let account): seller.restore(request: request, account: account)
    case .reportRestoreEnded(let end, let found): delivery.report(end, found: found)
    case .startWork(let download): startWork(on: download)
    case .stopWork(let id): running[id]?.job.stop()
    case .setPriority(let id, let priority): running[id]?.job.ticket.priority = priority
    case .discardStaging(let id): discardStaging(for: id)
    case .reportEverything(let records): delivery.report(everything: records)
    case .reportTransactions(let records): delivery.report(transactions: records)
    case .reportDownloads(let ids, let owners): delivery.report(downloads: ids, of: owners)
    case .reportRemoved(let records): delivery.report(removed: records)
    case .refuse(let error): delivery.report(error: error)
    }
  }
}
