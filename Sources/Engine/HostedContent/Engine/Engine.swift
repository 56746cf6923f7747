import HostedLibrary
import HostedTransfer
import Dispatch
import HostedConcurrency

/// Applies events to the state machine, journals the changes, and performs the effects.
///
/// Events are applied one after the other on a private serial queue. Events that wait together
/// share one commit. Downloads run on other threads and report back as events. Observers are called
/// by `Delivery`, so they can never block the engine.
// Sendable because every variable is private and used only on `serial`; the others have locks.
final class Engine: @unchecked Sendable {
  let journal: any QueueJournal
  let diagnostics: Diagnostics

  private let environment: Environment
  private let serial: any SerialLine
  private let runningWork: any WorkGroup
  private let library: ContentLibrary
  private let pipeline: Pipeline
  private let delivery: Delivery
  private let calls: ServiceCalls
  private let revokedContent: RevokedContentPolicy
  /// Transactions without an outcome that an earlier queue may have sent to the service.
  private let earlierOrders: Set<TransactionID>
  private let closing = Atomic(false)
  /// Submitted events, in order; handled in groups with one commit per group.
  private let inbox = Mutex(EngineInbox())

  // Used only on `serial`.
  private var state: QueueState
  private var running: [DownloadID: RunningDownload] = [:]
  /// Events that failed to be journaled; they are reported only after they are journaled.
  private var held = HeldEvents()
  /// Whether a retry timer is set, and whether a retry is enqueued.
  private var (hasRetryTimer, isRetryNext) = (false, false)
  /// Failed transactions whose purchases were delivered as other transactions.
  private var redelivered: Set<TransactionID> = []
  /// The number of removals in progress for each revoked product.
  private var removals: [ProductIdentifier: Int] = [:]
  /// Whether a call of `tick` is scheduled.
  private var isTicking = false
  private var isClosed = false

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
      notifiesService: service.needsFinishes)
    earlierOrders = Set(
      queue.transactions.filter { $0.state == .purchasing || $0.state == .deferred }.map(\.id))
    library = opened.library
    journal = opened.journal
    pipeline = Pipeline(
      library: opened.library, contents: contents, sources: sources, clock: configuration.clock,
      workers: environment.assemblyWorkers)
    self.delivery = delivery
    revokedContent = configuration.revokedContent
    calls = ServiceCalls(service, environment, timeout: configuration.serviceTimeout.inSeconds)
    diagnostics = Diagnostics(now: configuration.clock.now)
    calls.start(
      ServiceCalls.Receiver(
        onOutcome: { [weak self] in self?.answer($0, $1) },
        onAnswer: { [weak self] in self?.submit($0) },
        onProblem: { [delivery, diagnostics] error in
          diagnostics.log(.warning, "service not responding") { ["order": error.subject ?? ""] }
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
    // Stop the calls first, so that one that fails because of closing does not count as a
    // response.
    calls.stop()
    serial.sync {
      isClosed = true
      running.values.forEach { $0.job.stop() }
    }
  }

  /// Waits until all work has ended; waits for the service's calls until `deadline` at most.
  func wait(until deadline: DispatchTime) {
    runningWork.wait()
    calls.wait(until: deadline)
    diagnostics.close()
  }

  /// Waits until the service has acknowledged finished purchases, until `deadline` at most.
  func waitForNotices(until deadline: DispatchTime) {
    // The notices of finished transactions follow their reports. A commit may hang.
    let areSent = environment.execution.signal()
    serial.enqueue { areSent.send() }
    areSent.wait(until: deadline)
    calls.waitForNotices(until: deadline)
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

  /// Removes a version, unless an unfinished transaction or a lease needs it.
  func remove(_ content: ProductIdentifier, version: ContentVersion) throws {
    try betweenEvents { needed in
      guard !needed.contains(ContentKey(content, version: version)) else {
        throw ContentError(
          .contentInUse, "An unfinished transaction needs \(content) \(version)",
          remedy: "Finish the transaction first", subject: content.rawValue)
      }
      return try library.takeOut(content, version)
    } then: {
      try library.delete($0)
    }
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
      error = error.with(subject: transaction.rawValue)
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
    // Do not ask the service about a payment that is not journaled. After a launch, do ask.
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
    let delay = held.delay(random: environment.random())
    serial.enqueue(at: environment.execution.now + delay) { [weak self] in
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
        calls.purchase(payment, transaction: id, isRepeated: earlierOrders.contains(id))
      }
    case .notifyFinished(let notice): calls.notifyFinished(notice)
    case .restore(let request, let account): calls.restore(request: request, account: account)
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

  // MARK: Downloads, used on `serial`

  private func startWork(on download: DownloadRecord) {
    let job = DownloadJob(priority: Int(download.priority))
    running[download.id] = RunningDownload(job)
    startTicking()
    // One call can ask for the grants of many downloads.
    let limit = pipeline.sources.grants == nil ? 0 : ContentGrantBook.callLimit - 1
    let (account, ahead) = state.needs(of: download.id, limit: limit)
    runningWork.start { [pipeline, weak self] in
      let result: WorkResult
      do {
        let resolved = try pipeline.resolved(download)
        if resolved != download {
          self?.submit(.contentResolved(download: download.id, resolved.offer))
        }
        try pipeline.run(resolved, job: job, account: account, ahead: ahead)
        result = .installed
      } catch {
        let error = ContentError(error, while: "installing \(download.offer.contentIdentifier)")
        // A service that was closed throws `stopped`, too, and would again in another attempt.
        result =
          error.code == .stopped && job.isStopped
          ? .stopped : .failed(error.about(download.offer.productIdentifier.rawValue))
      }
      self?.diagnostics.count { $0.take(result, job) }
      for reason in job.ticket.statistics.wholePackages.keys {
        self?.diagnostics.log(.info, "whole package fetched") {
          ["download": download.id.rawValue, "reason": reason]
        }
      }
      self?.submit(.workEnded(download: download.id, result))
    }
  }

  private func endWork(on id: DownloadID) {
    // Report only this download. The ticker reports the others, however many downloads end.
    reportProgress(of: [id])
    running[id] = nil
  }

  /// Moves the staging folder aside at once, so the download can restart; deletes it later.
  private func discardStaging(for id: DownloadID) {
    reportingFailure(of: id) {
      guard let tree = try library.setAsideStaging(for: id.rawValue) else { return }
      runningWork.start { [self] in reportingFailure(of: id) { try library.delete(tree) } }
    }
  }

  private func reportingFailure(of id: DownloadID, _ body: () throws -> Void) {
    do {
      try body()
    } catch {
      // A failure is harmless: the next launch removes staging folders without a download.
      delivery.report(error: ContentError(error, while: "removing the staging of \(id)"))
    }
  }

  // MARK: Progress

  private func startTicking() {
    guard !isTicking else { return }
    isTicking = true
    serial.enqueue(at: environment.execution.now + .milliseconds(100)) { [weak self] in
      self?.tick()
    }
  }

  /// Repeats while downloads are running.
  private func tick() {
    isTicking = false
    guard !isClosed, !running.isEmpty else { return }
    reportProgress(of: Array(running.keys))
    startTicking()
  }

  private func reportProgress(of downloads: [DownloadID]) {
    let instant = pipeline.clock.uptime()
    var changed: [DownloadID: DownloadProgress] = [:]
    for id in downloads { changed[id] = running[id]?.newProgress(at: instant) }
    if !changed.isEmpty { delivery.report(progress: changed) }
  }

  // MARK: Events of the store service

  /// Handles the service's events after `cursor` until the engine is closed.
  func listen(after cursor: String?) {
    let cursors = Mutex(EventCursors())
    calls.listen(after: cursor) { [weak self] record in
      let number = record.cursor.map { cursor in cursors.withLock { $0.begin(cursor) } }
      self?.handle(record.event) { [weak self] in
        guard let newest = number.flatMap({ number in cursors.withLock { $0.end(number) } })
        else { return }
        self?.submit(.storeEventsHandled(cursor: newest))
      }
    }
    calls.run { [weak self, service = calls.service] in
      if let storefront = await service.storefront() { self?.report(storefront, isNew: false) }
    }
    removeRevokedContents()
  }

  /// Handles an event; calls `onEnd` after it is journaled or reported.
  private func handle(_ event: StoreEvent, onEnd: @escaping @Sendable () -> Void) {
    switch event {
    case .answered(let transaction, let outcome):
      answer(transaction, outcome, onEnd: onEnd)
    case .granted(let grant, let contents): deliver(grant, contents, onEnd: onEnd)
    case .revoked(let revocation):
      delivery.report(revocation)
      handle(revocation, onEnd: onEnd)
    case .storefrontChanged(let storefront):
      report(storefront, isNew: true)
      delivery.deliver(onEnd)
    case .promoted(let payment):
      // The lookup may take long; later events do not wait for it.
      calls.run { [weak self] in
        await self?.ask(payment)
        self?.delivery.deliverAfterLaunch(onEnd)
      }
    case .contentPublished:
      delivery.reportContentPublished()
      delivery.deliver(onEnd)
    case .checkpoint: onEnd()
    }
  }

  /// Submits the service's answer to a purchase; calls `onEnd` after it is journaled or reported.
  func answer(
    _ transaction: TransactionID, _ outcome: PurchaseOutcome,
    onEnd: @escaping @Sendable () -> Void = {}
  ) {
    if case .undecided(let error) = outcome {
      delivery.report(error: error)
      return onEnd()
    }
    submit(.purchaseAnswered(transaction: transaction, outcome)) { [weak self] in
      guard let self, case .purchased(let grant, let contents) = outcome else { return onEnd() }
      deliver(grant, contents, ifFailed: transaction, onEnd: onEnd)
    }
  }

  /// Delivers a purchase as another transaction if its own has failed: it was interrupted, or the
  /// delegate stopped it during the purchase.
  ///
  /// Only in the library that ordered it: others get the event too. Called on `serial`, after the
  /// answer was handled.
  private func deliver(
    _ grant: Grant, _ contents: [ContentOffer], ifFailed transaction: TransactionID,
    onEnd: @escaping @Sendable () -> Void
  ) {
    do {
      // The service may answer twice: to the call, and with an event.
      guard try hasFailed(transaction, for: grant.payment), redelivered.insert(transaction).inserted
      else { return onEnd() }
      deliver(grant, contents, onEnd: onEnd)
    } catch {
      // The event has not ended, so the next start gets it again.
      delivery.report(error: ContentError(error, while: "reading the journal"))
    }
  }

  private func deliver(
    _ grant: Grant, _ contents: [ContentOffer], onEnd: @escaping @Sendable () -> Void
  ) {
    submit(
      .granted(transaction: environment.newTransaction(), grant, contents: contents),
      onDecided: onEnd)
  }

  private func hasFailed(_ transaction: TransactionID, for payment: Payment) throws -> Bool {
    guard let record = state.transaction(transaction) else {
      return try journal.hasFailed(transaction, for: payment)
    }
    guard let error = record.error else { return false }
    // With a mismatch, the answer itself may be what failed.
    return error.code != .answerMismatch && payment.answers(record.payment)
  }

  private func report(_ storefront: Storefront, isNew: Bool) {
    delivery.report(storefront: storefront, isNew: isNew) { [weak self] transaction in
      self?.calls.withdraw(transaction.id)
      let product = transaction.payment.productIdentifier
      let error = ContentError(
        .storefrontRefused,
        "The app stopped the purchase of \(product) in storefront \(storefront.countryCode)",
        remedy: "Buy it again in this storefront", subject: product.rawValue)
      self?.submit(.purchaseAnswered(transaction: transaction.id, .failed(error)))
    }
  }

  private func ask(_ payment: Payment) async {
    let product = try? await calls.service.products([payment.productIdentifier]).products.first
    guard let product else {
      let error = ContentError.notOffered(payment.productIdentifier.rawValue)
      return delivery.deliverAfterLaunch { [delivery] in delivery.report(error: error) }
    }
    delivery.ask(payment, for: product) { [weak self, environment] in
      self?.submit(.paymentAdded(transaction: environment.newTransaction(), payment))
    }
  }

  // MARK: Revoked products: the journal has them until their contents are removed

  /// Handles the loss of products; calls `onEnd` after it is journaled and reported.
  private func handle(_ revocation: Revocation, onEnd: @escaping @Sendable () -> Void) {
    guard revokedContent == .remove else { return delivery.deliverAfterLaunch(onEnd) }
    let products = revocation.productIdentifiers
    calls.run { [weak self] in
      let isJournaled: Void? = await self?.retryingJournal {
        try $0.journal.setRevoked(true, products)
        $0.countRemovals(of: products)
      }
      guard isJournaled != nil else { return }
      self?.delivery.deliverAfterLaunch(onEnd)
      for product in products { self?.removeContents(of: product) }
    }
  }

  /// Continues removals that an earlier queue has not completed.
  private func removeRevokedContents() {
    guard revokedContent == .remove else { return }
    calls.run { [weak self] in
      let products = await self?.retryingJournal { engine in
        let products = try engine.journal.revokedProducts()
        engine.countRemovals(of: products)
        return products
      }
      for product in products ?? [] { self?.removeContents(of: product) }
    }
  }

  private func removeContents(of product: ProductIdentifier) {
    calls.run { [weak self] in
      guard let self else { return }
      // Fails because of a lease, for example, or if the service does not respond.
      await retrying {
        if try await !hasGrant(of: product) {
          try await performBlocking { try self.removeVersions(of: product) }
        }
      }
      if await retryingJournal({ try $0.endRemoval(of: product) }) != nil {
        diagnostics.log(.info, "revoked product handled") { ["product": product.rawValue] }
      }
    }
  }

  /// Returns whether an account of this library still has a grant of `product`.
  private func hasGrant(of product: ProductIdentifier) async throws -> Bool {
    let accounts = try await performBlocking { try self.journal.accounts(of: product) }
    for account in accounts.union([nil]) {
      if try await calls.service.latest(of: product, account: account) != nil { return true }
    }
    return false
  }

  /// Removes all versions that can be removed; throws the first error of the others.
  private func removeVersions(of product: ProductIdentifier) throws {
    var first: (any Error)?
    for content in try library.journal.installed() where content.productIdentifier == product {
      do {
        try remove(content.contentIdentifier, version: content.version)
      } catch let error as ContentError where error.code == .notInstalled {
        // Its folder was removed manually.
      } catch {
        first = first ?? error
      }
    }
    if let first { throw first }
  }

  private func countRemovals(of products: [ProductIdentifier]) {
    for product in products { removals[product, default: 0] += 1 }
  }

  /// Forgets the product, unless it was revoked again meanwhile: that removal is not complete yet.
  private func endRemoval(of product: ProductIdentifier) throws {
    let left = removals[product, default: 1] - 1
    if left == 0 { try journal.setRevoked(false, [product]) }
    removals[product] = left == 0 ? nil : left
  }

  /// Runs `body` between events; returns nil if the queue is closed before it succeeds.
  private func retryingJournal<Value: Sendable>(
    _ body: @escaping @Sendable (Engine) throws -> Value
  ) async -> Value? {
    await retrying {
      // A closed queue must not change the journal.
      try await performBlocking { try self.betweenEvents { _ in try body(self) } }
    }
  }

  /// When a failed removal of contents is repeated.
  private static let retryPolicy = RetryPolicy(firstDelay: 1, longestDelay: 64)

  /// Repeats `body` until it succeeds; returns nil if the queue is closed.
  @discardableResult
  private func retrying<Value: Sendable>(_ body: () async throws -> Value) async -> Value? {
    var failures = 0
    while !Task.isCancelled {
      if let value = try? await body() { return value }
      failures += 1
      let delay = Self.retryPolicy.delay(
        afterFailure: failures, retryAfter: nil, random: environment.random())
      try? await environment.sleep(.seconds(delay))
    }
    return nil
  }
}

private struct EngineInbox {
  var pendingEvents: ArraySlice<PendingEvent> = []
  /// Whether the serial queue is scheduled to read it.
  var isExpected = false

  /// Removes and returns up to `limit` events.
  ///
  /// The last call also returns the storage of all events, which must be released outside the
  /// inbox's lock.
  mutating func take(_ limit: Int) -> (events: [PendingEvent], storage: ArraySlice<PendingEvent>) {
    let taken = Array(pendingEvents.prefix(limit))
    var storage: ArraySlice<PendingEvent> = []
    if taken.count == pendingEvents.count {
      swap(&storage, &pendingEvents)
    } else {
      pendingEvents = pendingEvents.dropFirst(limit)
    }
    isExpected = !pendingEvents.isEmpty
    return (taken, storage)
  }
}

/// The job of a download, and the progress that was reported last.
private struct RunningDownload {
  let job: DownloadJob
  private var meter = ProgressMeter()
  private var last = DownloadProgress(fraction: 0)

  init(_ job: DownloadJob) { self.job = job }

  /// Returns the progress, unless it is the same as at the last call.
  mutating func newProgress(at instant: Double) -> DownloadProgress? {
    var progress = last
    if let work = job.work { progress = meter.advance(to: work, at: instant) }
    (progress.phase, progress.wait) = job.activity
    progress.statistics = job.ticket.statistics
    defer { last = progress }
    return progress == last ? nil : progress
  }
}

/// The cursors of the service's events in progress, in order; pure.
///
/// Events may end in any order. A cursor counts only after its event and all earlier events have
/// ended. So after a crash, every unhandled event is delivered again.
struct EventCursors: Sendable {
  private var entries: ArraySlice<(cursor: String, hasEnded: Bool)> = []
  /// The number of the first element of `entries`.
  private var first = 0

  /// Records an event and returns its number.
  mutating func begin(_ cursor: String) -> Int {
    entries.append((cursor, false))
    return first + entries.count - 1
  }

  /// Records the end of an event; returns the newest cursor that counts, nil if unchanged.
  mutating func end(_ number: Int) -> String? {
    let index = entries.startIndex + number - first
    guard entries.indices.contains(index) else { return nil }
    entries[index].hasEnded = true
    var newest: String?
    while let entry = entries.first, entry.hasEnded {
      newest = entry.cursor
      entries.removeFirst()
      first += 1
    }
    return newest
  }
}
