import HostedSelling
import HostedModel
import Dispatch
import HostedConcurrency

/// Calls the store service for purchases and restores, and listens to its events.
///
/// Orders do not wait for each other: one without an answer is reported after a timeout, and the
/// others continue. An undecided one is reported once and repeated. If the service takes batches,
/// waiting purchases are sent together.
final class ServiceCalls: Sendable {
  let service: any StoreService
  private let environment: Environment
  private let timeout: Double
  /// The serial queue that checks for late calls, and sends again.
  private let timer: any SerialLine
  /// Jobs to run concurrently until `stop`.
  private let jobs: AsyncStream<Job>.Continuation
  /// Tracks the task that runs the jobs.
  private let running: ActivityGate
  /// Tracks the task that sends notices, now or after a delay.
  private let sending: ActivityGate
  private let state: Mutex<State>

  private typealias Job = @Sendable () async -> Void

  /// Receives what the service's calls lead to.
  struct Receiver: Sendable {
    let onOutcome: @Sendable (_ transaction: TransactionID, PurchaseOutcome) -> Void
    /// For answers to other calls than purchases.
    let onAnswer: @Sendable (QueueEvent) -> Void
    /// For errors that decide nothing, such as that of a late order.
    let onProblem: @Sendable (ContentError) -> Void
  }

  private struct State {
    var book: OrderBook
    /// Nil before `start`, and after `stop`.
    var receiver: Receiver?
    var task: Task<Void, Never>?
    /// Finished purchases that the service has not acknowledged.
    var notices: ArraySlice<FinishNotice> = []
    /// Whether a task sends them, which `sending` counts.
    var isSendingNotices = false
    /// When the next check for late calls and undecided orders is.
    var nextCheck: DispatchTime?
  }

  /// `timeout` is in seconds; longer calls are reported.
  init(_ service: any StoreService, _ environment: Environment, timeout: Double) {
    self.service = service
    self.environment = environment
    self.timeout = min(max(0, timeout), 1e9)
    timer = environment.execution.line("hostedcontent.service", on: nil)
    state = Mutex(
      State(
        book: OrderBook(
          batchSize: service.maximumBatchSize,
          timeout: .milliseconds(Int(self.timeout * 1000)))))
    let (stream, continuation) = AsyncStream.makeStream(of: Job.self)
    jobs = continuation
    running = ActivityGate(environment.execution.signal)
    sending = ActivityGate(environment.execution.signal)
    _ = running.begin()
    let task = Task(executorPreference: environment.execution.tasks) { [running] in
      await withDiscardingTaskGroup { group in
        for await job in stream { group.addTask { await job() } }
      }
      running.end()
    }
    state.withLock { $0.task = task }
  }

  deinit { stop() }

  /// Sets the receiver; called once, before the first order.
  func start(_ receiver: Receiver) { state.withLock { $0.receiver = receiver } }

  /// Nil after `stop`: calls that fail because of that are not answers.
  private var receiver: Receiver? { state.withLock { $0.receiver } }

  /// Sends an order; `isRepeated` is that of `PurchaseOrder`.
  func purchase(_ payment: Payment, transaction: TransactionID, isRepeated: Bool) {
    let order = PurchaseOrder(
      payment: payment, transaction: transaction, isRepeated: isRepeated)
    if state.withLock({ $0.book.add(order) }) { startWorker() }
  }

  /// Withdraws an order that the app has stopped, unless it was sent.
  func withdraw(_ transaction: TransactionID) { state.withLock { $0.book.withdraw(transaction) } }

  func restore(request: RestoreID, account: AccountID?) {
    run { [weak self] in await self?.restore(request, account) }
  }

  /// Notifies the service of a finished purchase; retries until it succeeds.
  func notifyFinished(_ notice: FinishNotice) {
    // Outside the lock, and before another thread can end what this begins.
    _ = sending.begin()
    let starts = state.withLock { state in
      state.notices.append(notice)
      guard state.receiver != nil, !state.isSendingNotices else { return false }
      state.isSendingNotices = true
      return true
    }
    guard starts else { return sending.end() }
    run { [weak self] in await self?.sendNotices(failures: 0) }
  }

  /// Passes the service's events after `cursor` to `body` until `stop`.
  func listen(
    after cursor: String?, _ body: @escaping @Sendable (StoreEventRecord) -> Void
  ) {
    let events = service.events(after: cursor)
    run { for await event in events { body(event) } }
  }

  /// Runs `body` concurrently; it is cancelled by `stop`.
  func run(_ body: @escaping @Sendable () async -> Void) { jobs.yield(body) }

  /// Refuses further calls and cancels running ones, which the next launch repeats.
  func stop() {
    jobs.finish()
    // Released outside the lock.
    let (task, isSending, _) = state.withLock { state in
      defer { (state.task, state.isSendingNotices, state.receiver) = (nil, false, nil) }
      return (state.task, state.isSendingNotices, state.receiver)
    }
    task?.cancel()
    if isSending { sending.end() }
  }

  /// Waits until cancelled calls have returned, until `deadline` at most.
  ///
  /// Does not wait within a task: that could block a thread that the service needs to return.
  func wait(until deadline: DispatchTime) {
    if withUnsafeCurrentTask(body: { $0 == nil }) { running.wait(until: deadline) }
  }

  /// Waits until the service has acknowledged all finished purchases, until `deadline` at most.
  ///
  /// Ends when the calls are stopped.
  func waitForNotices(until deadline: DispatchTime) { sending.wait(until: deadline) }

  // MARK: Calls

  private func startWorker() { run { [weak self] in await self?.work() } }

  /// Makes one call at a time while orders wait.
  private func work() async {
    repeat {
      let call = begin { $0.nextCall(at: $1) }
      guard let (number, orders) = call ?? nil else { return }
      for (order, outcome) in zip(orders, await service.outcomes(of: orders)) {
        handle(outcome, of: order)
      }
      guard state.withLock({ $0.book.end(number) }) else { return }
    } while true
  }

  private func handle(_ outcome: PurchaseOutcome, of order: PurchaseOrder) {
    guard case .undecided(let error) = outcome else {
      state.withLock { $0.book.settle(order.transaction) }
      receiver?.onOutcome(order.transaction, outcome)
      return
    }
    let (now, random) = (environment.execution.now, environment.random())
    let isFirst = state.withLock { $0.book.postpone(order, at: now, random: random) }
    if isFirst { receiver?.onProblem(error) }
    scheduleCheck()
  }

  /// Sends pending notices one at a time; after a failure, continues later with the next one.
  private func sendNotices(failures: Int) async {
    var failures = failures
    while let notice = nextNotice() {
      guard let call = begin({ $0.beginCall(notice.transaction.rawValue, at: $1) }) else { return }
      defer { _ = state.withLock { $0.book.end(call) } }
      do {
        let order = PurchaseOrder(payment: notice.payment, transaction: notice.transaction)
        try await service.finished(order, number: notice.number)
      } catch {
        // It may fail forever, such as one for an account that the token does not allow anymore.
        state.withLock { $0.notices.append($0.notices.removeFirst()) }
        return retryNotices(after: failures)
      }
      failures = 0
      state.withLock { _ = $0.notices.removeFirst() }
      receiver?.onAnswer(.finishAcknowledged(transaction: notice.transaction))
    }
  }

  /// Returns nil if the task has sent all notices: then the next notice starts another one.
  private func nextNotice() -> FinishNotice? {
    let (notice, hasEnded) = state.withLock { state in
      // Not after `stop`, which ends the task, too.
      let hasEnded = state.notices.isEmpty && state.isSendingNotices
      if hasEnded { state.isSendingNotices = false }
      return (state.notices.first, hasEnded)
    }
    if hasEnded { sending.end() }
    return notice
  }

  private func retryNotices(after failures: Int) {
    let delay = OrderBook.retryPolicy.delay(
      afterFailure: failures + 1, retryAfter: nil, random: environment.random())
    timer.enqueue(at: environment.execution.now + delay) { [weak self] in
      self?.run { [weak self] in await self?.sendNotices(failures: failures + 1) }
    }
  }

  private func restore(_ request: RestoreID, _ account: AccountID?) async {
    guard let call = begin({ $0.beginCall(request.rawValue, at: $1) }) else { return }
    var failure: ContentError?
    do {
      for try await purchase in service.restore(account: account) {
        state.withLock { $0.book.touch(call, at: environment.execution.now) }
        receiver?.onAnswer(
          .restored(
            transaction: environment.newTransaction(), original: purchase.original,
            contents: purchase.contents, purpose: .history))
      }
    } catch {
      failure = ContentError(error, while: "restoring purchases")
    }
    receiver?.onAnswer(.restoreEnded(request: request, failure))
    _ = state.withLock { $0.book.end(call) }
  }

  /// Begins a call and schedules a check for lateness; returns nil after `stop`.
  private func begin<Value: Sendable>(_ body: (inout OrderBook, DispatchTime) -> Value) -> Value? {
    let now = environment.execution.now
    let value: Value? = state.withLock { state in
      state.receiver == nil ? nil : body(&state.book, now)
    }
    scheduleCheck()
    return value
  }

  // MARK: Late calls and undecided orders

  /// Schedules a check for when the next call becomes late, or the next order is sent again.
  private func scheduleCheck() {
    let time = state.withLock { state -> DispatchTime? in
      guard state.receiver != nil, let time = state.book.nextDeadline,
        state.nextCheck.map({ time < $0 }) ?? true
      else { return nil }
      state.nextCheck = time
      return time
    }
    guard let time else { return }
    timer.enqueue(at: time) { [weak self] in self?.check(scheduledFor: time) }
  }

  private func check(scheduledFor time: DispatchTime) {
    let now = environment.execution.now
    let (late, repetitions, receiver) = state.withLock { state in
      if state.nextCheck == time { state.nextCheck = nil }
      return (state.book.late(by: now), state.book.resume(by: now), state.receiver)
    }
    for subject in late.subjects {
      receiver?.onProblem(
        ContentError(
          .serviceNotResponding, "The store service did not respond within \(Int(timeout)) seconds",
          remedy: "Wait for the response. If it does not arrive, check the store service, and "
            + "restart this program", subject: subject))
    }
    for _ in 0..<late.newWorkers + repetitions { startWorker() }
    scheduleCheck()
  }
}

extension StoreService {
  /// Buys orders; a thrown error or a missing outcome leaves them undecided.
  func outcomes(of orders: [PurchaseOrder]) async -> [PurchaseOutcome] {
    do {
      let outcomes = try await purchase(orders)
      return outcomes
        + orders.dropFirst(outcomes.count).map {
          .undecided(.undecided($0, cause: "it returned fewer outcomes than orders"))
        }
    } catch {
      return orders.map { PurchaseOutcome(of: $0, after: error) }
    }
  }
}
