import Dispatch
import Glibc
import HostedConcurrency
import HostedContent

/// One run of `get`, `update` or `restore`: installs the offered versions of products.
///
/// It decides the next step for a product. `TransactionDriver` completes each transaction.
final class InstallSession: Sendable {
  static let options: [Command.Option] =
    [
      .store, .library, .account, .grants,
      .init(
        "--timeout", "SECONDS", "end with an error after this long without progress; default 90"),
    ] + ServiceArguments.optional + NetworkArguments.options + NetworkArguments.transferOptions

  private let queue: PaymentQueue
  private let console: Console
  private let account: AccountID?
  private let progress: ProgressLines
  private let watchdog: Watchdog
  private let driver: TransactionDriver
  private let closer: QueueCloser

  /// How long a command waits until a store server has recorded what was finished.
  private static let noticeLimit = DispatchTimeInterval.seconds(5)
  /// The number of attempts for each product, so that temporary failures are retried.
  private static let tries = 2

  convenience init(_ arguments: Arguments, _ console: Console) throws {
    let seconds = try arguments.number("--timeout", minimum: 1) ?? 90
    try self.init(
      arguments.queueConfiguration(console), account: arguments.account(), seconds: seconds,
      console)
  }

  init(
    _ configuration: PaymentQueue.Configuration, account: AccountID?, seconds: Int,
    _ console: Console, closingSeconds: Int = 15, endProcess: (@Sendable () -> Void)? = nil
  ) throws {
    self.console = console
    self.account = account
    var configuration = configuration
    let callbacks = DispatchQueue(label: "hostedcontent.session")
    configuration.deliveryQueue = callbacks
    queue = try PaymentQueue(configuration)
    closer = QueueCloser(queue, console, seconds: closingSeconds, endProcess: endProcess)
    progress = ProgressLines(console)
    watchdog = Watchdog(seconds: seconds)
    driver = TransactionDriver(queue, callbacks: callbacks, progress, watchdog)
    watchdog.start { [weak self] in self?.abort(with: $0) }
  }

  /// Stops the running work; fetched data is kept.
  func close() {
    progress.end()
    closer.close()
  }

  /// The products with a newer version in the store, and those with an unfinished update.
  func outdated() async throws -> [ProductIdentifier] {
    let begun = queue.transactions.filter { $0.transactionState == .restored }
      .map(\.payment.productIdentifier)
    let outdated = try await queue.availableUpdates().map(\.productIdentifier)
    return Set(begun + outdated).sorted()
  }

  /// Installs the offered version of each product.
  ///
  /// Prints the installed products, and how many if others failed. If `mayBuy` is false, a product
  /// that was never granted to the account is an error.
  func install(_ identifiers: [ProductIdentifier], mayBuy: Bool) async throws -> ExitStatus {
    let response = try await queue.products(Set(identifiers.map(\.rawValue)))
    let isComplete = console.reportMissing(in: response)
    // Until here, a signal may end the process, because nothing is in progress.
    console.signals?.setHandler { [weak self] in self?.abort(with: $0) }
    let unfinished = Dictionary(grouping: queue.transactions) { $0.payment.productIdentifier }
    queue.add(driver)
    // A service may list a product twice.
    var seen: Set<ProductIdentifier> = []
    let products = response.products.filter { seen.insert($0.productIdentifier).inserted }
    let lengths = products.flatMap(\.downloadContentLengths)
    queue.setMaximumActiveDownloads(Self.activeDownloads(of: lengths))
    let results = await concurrently(products) { product in
      await self.install(product, unfinished[product.productIdentifier] ?? [], mayBuy)
    }
    let delivered = results.compactMap { try? $0.get() }
    progress.end()
    if driver.abortReason == nil { await queue.waitForNotices(Self.noticeLimit) }
    if console.printsJSON {
      let sorted = delivered.sorted { $0.productIdentifier < $1.productIdentifier }
      try console.print(json: ["products": sorted])
    }
    let left = Set(identifiers).subtracting(delivered.map(\.productIdentifier)).sorted()
    reportAbort(before: left)
    if driver.abortReason == nil, !left.isEmpty, left.count + delivered.count > 1 {
      console.note("\(Console.count(delivered.count, "product")) installed, \(left.count) failed")
    }
    guard isComplete, !left.isEmpty else { return isComplete ? .done : .failed }
    let waiting = results.count {
      if case .failure(let error) = $0 { error.isWaiting } else { false }
    }
    return waiting == left.count ? .waiting : .failed
  }

  /// Restores the account's purchases and finishes them, after their installation if `installing`.
  ///
  /// Reports those that fail. Returns the finished transactions, and the products of the others.
  func restore(installing: Bool) async throws
    -> (done: [PaymentTransaction], left: [ProductIdentifier])
  {
    // The queue reports a late service, and a long history may take longer than the timeout.
    watchdog.pause()
    let transactions = try await queue.restore(withApplicationUsername: account)
    watchdog.feed()
    console.signals?.setHandler { [weak self] in self?.abort(with: $0) }
    if installing { queue.add(driver) }
    let lengths = transactions.flatMap(\.downloads).map(\.expectedContentLength)
    queue.setMaximumActiveDownloads(Self.activeDownloads(of: lengths))
    let results = await concurrently(transactions) { transaction in
      (transaction: transaction, isDone: await self.finish(transaction, installing))
    }
    progress.end()
    if driver.abortReason == nil { await queue.waitForNotices(Self.noticeLimit) }
    return (
      results.filter { $0.isDone }.map { $0.transaction },
      results.filter { !$0.isDone }.map { $0.transaction.payment.productIdentifier }
    )
  }

  /// Finishes a restored transaction; returns false after a failure, which it reports.
  private func finish(_ restored: PaymentTransaction, _ installing: Bool) async -> Bool {
    let product = restored.payment.productIdentifier
    do {
      if !installing {
        try await queue.finish(restored)
        watchdog.feed()
      } else if let error = await driver.end(of: restored.id, known: restored) {
        throw error
      }
      return true
    } catch {
      report(ContentError(error, while: "restoring \(product)").naming(product))
      return false
    }
  }

  /// Reports the error of one product, unless the whole command was stopped.
  private func report(_ error: ContentError) {
    if driver.abortReason == nil { progress.report(error) }
  }

  /// Reports once why the command was stopped, with the products that are left.
  func reportAbort(before left: [ProductIdentifier]) {
    if let abort = driver.abortReason, !left.isEmpty { console.report(abort.before(left)) }
  }

  /// The number of parallel downloads: as many as have 16 MB together, from 3 to 32.
  ///
  /// Small downloads wait for responses and syncs rather than for bytes. The more of them wait at
  /// the same time, the more share both.
  static func activeDownloads(of lengths: [Int64]) -> Int {
    guard !lengths.isEmpty else { return 3 }
    let average = lengths.clampedSum / Int64(lengths.count)
    return Int(min(32, max(3, (16 << 20) / max(1, average))))
  }

  /// Runs the steps for one product until the offered version is installed; reports a failure.
  private func install(
    _ product: Product, _ open: [PaymentTransaction], _ mayBuy: Bool
  ) async -> Result<DeliveredProduct, ContentError> {
    let identifier = product.productIdentifier
    do {
      try await takeSteps(product, open, mayBuy)
      let delivered = DeliveredProduct(product, try installedVersions(of: product))
      guard !delivered.contents.isEmpty || product.contents.isEmpty else {
        throw ContentError.notDelivered(identifier)
      }
      if !console.printsJSON { progress.print(delivered.summary) }
      return .success(delivered)
    } catch {
      let error = ContentError(error, while: "installing \(identifier)")
      report(error.isWaiting ? error : error.naming(identifier))
      return .failure(error)
    }
  }

  private func installedVersions(of product: Product) throws -> [ProductIdentifier: ContentVersion]
  {
    try product.contents.map(\.contentIdentifier).reduce(into: [:]) {
      $0[$1] = try installedVersion(of: $1)
    }
  }

  /// Not async: the look-up is faster than a change of threads.
  private func installedVersion(of content: ProductIdentifier) throws -> ContentVersion? {
    try queue.installedVersion(of: content)
  }

  private func takeSteps(
    _ product: Product, _ unfinished: [PaymentTransaction], _ mayBuy: Bool
  ) async throws {
    let identifier = product.productIdentifier
    var open = unfinished
    var triesLeft = Self.tries
    // At most one step for each open transaction, and one purchase or update for each content.
    var stepsLeft = open.count + max(1, product.contents.count)
    // Files of a version that this run has just installed are not looked up again.
    var unchecked = try installedVersions(of: product)
    // Check again, because an open transaction may be for an older version.
    while let step = try await nextStep(for: product, &open, mayBuy, &unchecked) {
      guard stepsLeft > 0 else { throw ContentError.notDelivered(identifier) }
      guard let error = try await carryOut(step, identifier, mayBuy) else {
        if product.contents.isEmpty { return }
        stepsLeft -= 1
        continue
      }
      triesLeft -= 1
      let isAborted = driver.abortReason != nil
      // The queue repeats an undecided purchase, but does not report again why it is undecided.
      let isOpen = error.isWaiting || error.code == .serviceFailed
      guard error.isRetryable, !isOpen, triesLeft > 0, !isAborted else { throw error }
      open = queue.transactions.filter { $0.payment.productIdentifier == identifier }
    }
  }

  private enum Step {
    case proceed(PaymentTransaction)
    case buy
    case update(ContentUpdate)
  }

  private func nextStep(
    for product: Product, _ open: inout [PaymentTransaction], _ mayBuy: Bool,
    _ unchecked: inout [ProductIdentifier: ContentVersion]
  ) async throws -> Step? {
    if let abort = driver.abortReason { throw abort }
    while let transaction = open.popLast() {
      if transaction.transactionState != .failed { return .proceed(transaction) }
      queue.finishTransaction(transaction)
    }
    if product.contents.isEmpty {
      // A non-consumable product is not bought twice.
      let isOwned = try await queue.isGranted(product.productIdentifier, account: account)
      return isOwned && product.type == .nonConsumable ? nil : .buy
    }
    for offer in product.contents {
      let content = offer.contentIdentifier
      guard let installed = try installedVersion(of: content) else {
        // A content that was added to the product later is installed by get, not by update.
        if mayBuy { return .buy }
        continue
      }
      if installed < offer.version || product.isWithdrawn(installed, of: content) {
        return .update(ContentUpdate(of: offer, from: installed))
      }
      // Once, and only for a version that was there before: this run has just written the others.
      guard unchecked.removeValue(forKey: content)?.rawValue == installed.rawValue,
        try !queue.isComplete(content, installed)
      else { continue }
      // A download of the same version fetches the missing files, without a purchase.
      guard installed.rawValue == offer.version.rawValue else {
        throw ContentError(
          .contentDamaged,
          "Files of \(content) \(installed) are missing, and the store offers only \(offer.version)",
          remedy: "Run hostedcontent remove \(content) \(installed), then get it again",
          subject: content.rawValue)
      }
      return .update(ContentUpdate(of: offer, from: installed))
    }
    return nil
  }

  /// Runs a step and waits for its end; returns nil if it succeeds.
  private func carryOut(
    _ step: Step, _ product: ProductIdentifier, _ mayBuy: Bool
  ) async throws -> ContentError? {
    switch step {
    case .proceed(let open):
      return open.transactionState == .deferred
        ? await driver.end(ofDeferred: open) : await driver.end(of: open.id, known: open)
    case .buy: return await driver.end(of: buy(product))
    case .update(let update):
      let transaction: TransactionID
      do {
        transaction = try await queue.add(update, applicationUsername: account)
      } catch let error as ContentError where error.code == .notEntitled {
        // Installed for another account. This account buys it, if permitted.
        guard mayBuy else {
          throw error.with(
            remedy: "Specify the account that bought it with --account, or use hostedcontent get")
        }
        return await driver.end(of: buy(product))
      }
      return await driver.end(of: transaction)
    }
  }

  private func buy(_ product: ProductIdentifier) -> TransactionID {
    queue.add(Payment(productIdentifier: product, applicationUsername: account))
  }

  private func abort(with error: ContentError) {
    // First, because calls fail once the queue is closed.
    driver.abort(with: error)
    closer.begin()
  }
}

/// Completes transactions: starts their downloads and finishes them after the installation.
///
/// It is an ordinary observer. The transaction of a failed download stays open, so that the next
/// run continues it.
private final class TransactionDriver: PaymentTransactionObserver {
  private let queue: PaymentQueue
  /// The queue of the callbacks.
  ///
  /// Decisions about transactions are only made here, one at a time.
  private let callbacks: DispatchQueue
  private let progress: ProgressLines
  private let watchdog: Watchdog
  private let state = Mutex(State())

  private struct State {
    var works: [TransactionID: Work] = [:]
    /// Failures of transactions that nothing waited for when they came.
    var refusals: [TransactionID: ContentError] = [:]
    /// Set once the command must stop: after an interrupt or a timeout.
    var abort: ContentError?
  }

  private struct Work {
    let waiter: CheckedContinuation<ContentError?, Never>
    /// Nil until a new transaction was reported.
    var transaction: PaymentTransaction?
    /// Whether it waited for a decision before this run; then the service is asked again.
    var isAskedAgain = false
    var isStarted = false
    /// Whether the download was seen in progress; earlier reports are from an earlier run.
    var hasMoved = false
  }

  init(
    _ queue: PaymentQueue, callbacks: DispatchQueue, _ progress: ProgressLines, _ watchdog: Watchdog
  ) {
    self.queue = queue
    self.callbacks = callbacks
    self.progress = progress
    self.watchdog = watchdog
  }

  /// The reason why the command must stop; nil if it can continue.
  var abortReason: ContentError? { state.withLock { $0.abort } }

  /// Waits until `transaction` is finished; returns the error if it fails.
  ///
  /// Calls `onBegin` once a failure of it is noticed.
  func end(
    of transaction: TransactionID, known: PaymentTransaction? = nil, isAskedAgain: Bool = false,
    onBegin: () -> Void = {}
  ) async -> ContentError? {
    await withCheckedContinuation { continuation in
      let abort = state.withLock { state in
        if state.abort == nil {
          state.works[transaction] = Work(
            waiter: continuation, transaction: known, isAskedAgain: isAskedAgain)
        }
        return state.abort
      }
      if let abort { return continuation.resume(returning: abort) }
      onBegin()
      // Check again what was reported before the transaction was registered, between callbacks.
      callbacks.async { self.recheck(at: transaction) }
    }
  }

  /// Asks about a transaction that waited for a decision in an earlier run, and waits for its end.
  func end(ofDeferred transaction: PaymentTransaction) async -> ContentError? {
    let asking = Mutex<Task<Void, Never>?>(nil)
    defer { asking.withLock { $0 }?.cancel() }
    return await end(of: transaction.id, known: transaction, isAskedAgain: true) {
      let task = Task { [self] in
        if case .deferred = await queue.ask(about: transaction) { endWaiting(transaction) }
      }
      asking.withLock { $0 = task }
    }
  }

  /// Ends the wait for a transaction because it needs a decision.
  private func endWaiting(_ transaction: PaymentTransaction) {
    let product = transaction.payment.productIdentifier
    end(
      transaction.id,
      ContentError(
        .awaitingDecision,
        "The purchase of \(product) waits for a decision, as transaction \(transaction.id)",
        remedy: "Run the command again after the decision", subject: transaction.id.rawValue))
  }

  private func recheck(at transaction: TransactionID) {
    if let known = queue.transaction(transaction) { return proceed(known) }
    let (isGone, failure) = state.withLock { state in
      let isKnown = state.works[transaction]?.transaction != nil
      // A known transaction that is missing has ended. Earlier failures of it do not matter.
      return (isKnown, isKnown ? nil : state.refusals[transaction])
    }
    if isGone || failure != nil { end(transaction, failure) }
  }

  private func end(_ transaction: TransactionID, _ error: ContentError?) {
    let work = state.withLock { $0.works.removeValue(forKey: transaction) }
    work?.waiter.resume(returning: error)
  }

  /// Ends all current and later waits with `error`.
  func abort(with error: ContentError) {
    let works = state.withLock { state in
      state.abort = state.abort ?? error
      defer { state.works = [:] }
      return state.works.values
    }
    works.forEach { $0.waiter.resume(returning: error) }
  }

  /// Whether `download` is ours and its state is from this run, not from an earlier one.
  private func hasBegun(_ download: Download) -> Bool {
    guard let work = state.withLock({ $0.works[download.transaction.id] }) else { return false }
    return switch download.state {
    case .waiting, .active, .finished: true
    case .paused, .failed, .cancelled: work.hasMoved
    }
  }

  // MARK: PaymentTransactionObserver

  func paymentQueue(_ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]) {
    watchdog.feed()
    for transaction in transactions { proceed(transaction) }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    watchdog.feed()
    let ours = downloads.filter { hasBegun($0) }
    progress.show(ours)
    for transaction in Set(downloads.map(\.transaction)) { proceed(transaction) }
  }

  func paymentQueue(_ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]) {
    watchdog.feed()
    for transaction in transactions { end(transaction.id, nil) }
  }

  /// Handles a failure whose subject is a transaction.
  ///
  /// An update that could not be recorded may fail before something waits for it.
  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    let ours = state.withLock { state -> TransactionID? in
      guard let subject = error.subject.map(TransactionID.init(rawValue:)) else { return nil }
      if state.works[subject] != nil { return subject }
      state.refusals[subject] = error
      return nil
    }
    if let ours { end(ours, error) } else { progress.report(error) }
  }

  private func proceed(_ transaction: PaymentTransaction) {
    let work = state.withLock { state in
      state.works[transaction.id]?.transaction = transaction
      return state.works[transaction.id]
    }
    guard let work else { return }
    switch transaction.transactionState {
    case .purchasing: break
    case .deferred: if !work.isAskedAgain { endWaiting(transaction) }
    case .failed:
      queue.finishTransaction(transaction)
      end(transaction.id, transaction.error ?? .notDelivered(transaction.payment.productIdentifier))
    case .purchased, .restored: proceed(withDownloadsOf: transaction)
    }
  }

  private func proceed(withDownloadsOf transaction: PaymentTransaction) {
    let downloads = transaction.downloads
    if downloads.allSatisfy({ $0.state == .finished }) {
      return queue.finishTransaction(transaction)
    }
    let isMoving = downloads.contains { $0.state == .active || $0.state == .waiting }
    let (mustStart, hasStopped) = state.withLock { state in
      guard let work = state.works[transaction.id] else { return (false, false) }
      state.works[transaction.id]?.isStarted = true
      if isMoving { state.works[transaction.id]?.hasMoved = true }
      return (!work.isStarted, work.hasMoved && !isMoving)
    }
    // Also retries downloads that an earlier run left paused or failed.
    if mustStart { queue.start(downloads) }
    if hasStopped {
      let error = downloads.lazy.compactMap(\.error).first
      let product = transaction.payment.productIdentifier
      let stopped = ContentError(
        .stopped, "The downloads of \(product) were stopped", remedy: "Run the command again",
        subject: product.rawValue)
      end(transaction.id, error ?? stopped)
    }
  }
}

/// A product that `get` or `update` has delivered, and its installed contents.
struct DeliveredProduct: Encodable {
  let productIdentifier: ProductIdentifier
  let hasContent: Bool
  let contents: [Content]

  struct Content: Encodable {
    let contentIdentifier: ProductIdentifier
    let version: ContentVersion
  }

  /// Creates the product with those of its contents that have a version in `installed`.
  ///
  /// An update skips contents that were never installed, so some may be missing.
  init(_ product: Product, _ installed: [ProductIdentifier: ContentVersion]) {
    productIdentifier = product.productIdentifier
    hasContent = !product.contents.isEmpty
    contents = product.contents.map(\.contentIdentifier).compactMap { content in
      installed[content].map { Content(contentIdentifier: content, version: $0) }
    }
  }

  var summary: String {
    guard hasContent else {
      return "\(productIdentifier): bought, the store offers no content for it"
    }
    return contents.map { "\($0.contentIdentifier) \($0.version)" }.joined(separator: ", ")
      + ": installed"
  }
}

/// Closes a queue; after an interrupt or a timeout, the command ends even if work hangs.
///
/// Work may hang in a system call, for example on a network disk. It then ends with the process,
/// which is as safe as a crash.
final class QueueCloser: Sendable {
  private let queue: PaymentQueue
  private let seconds: Int
  private let endProcess: @Sendable () -> Void
  private let hasBegun = Atomic(false)
  private let isClosed = Atomic(false)
  private let work = DispatchQueue(label: "hostedcontent.closing")

  /// The standard limit is longer than a wait for a locked ledger, which is 10 seconds.
  ///
  /// Tests replace the end of the process.
  init(
    _ queue: PaymentQueue, _ console: Console, seconds: Int = 15,
    endProcess: (@Sendable () -> Void)? = nil
  ) {
    self.queue = queue
    self.seconds = seconds
    self.endProcess =
      endProcess ?? {
        console.report(
          ContentError(
            .timedOut, "The library was not closed within \(Console.count(seconds, "second"))",
            remedy: "Check whether its disk responds, then run the command again to continue"))
        let isInterrupted = console.signals?.hasArrived == true
        _exit((isInterrupted ? ExitStatus.interrupted : .failed).rawValue)
      }
  }

  /// Starts to close the queue without waiting; ends the process if that takes too long.
  func begin() {
    guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
    // Not in a task, because the downloads may occupy all threads of the task pool.
    work.async { [queue] in queue.close() }
    DispatchQueue(label: "hostedcontent.closing.limit").asyncAfter(
      deadline: .now() + .seconds(seconds)
    ) { [weak self] in
      if let self, !isClosed.load(ordering: .relaxed) { endProcess() }
    }
  }

  func close() {
    work.sync { queue.close() }
    isClosed.store(true, ordering: .relaxed)
  }
}

extension ContentError {
  fileprivate var isWaiting: Bool { code == .awaitingDecision }

  fileprivate static func notDelivered(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .inconsistent, "\(product) was sold, but its offered version is still not installed",
      remedy: "Report a bug with the output of hostedcontent list and hostedcontent queue",
      subject: product.rawValue)
  }

  /// Returns the error with the products that it prevented from being installed.
  fileprivate func before(_ products: [ProductIdentifier]) -> ContentError {
    let names = products.map(\.rawValue).sorted().joined(separator: ", ")
    return with(message: "\(message); not installed: \(names)")
  }
}

/// Calls a handler after a time without progress, so that no command waits forever.
// Sendable, because a dispatch source can be scheduled and canceled on any thread.
private final class Watchdog: @unchecked Sendable {
  // Its own queue, because all threads of the global queues may be busy with downloads.
  private let timer = DispatchSource.makeTimerSource(
    queue: DispatchQueue(label: "hostedcontent.watchdog"))
  private let seconds: Int

  init(seconds: Int) { self.seconds = seconds }

  /// Starts the timeout; must be called, because a source that never started cannot be released.
  func start(onExpiry: @escaping @Sendable (ContentError) -> Void) {
    timer.setEventHandler { [seconds] in
      onExpiry(
        ContentError(
          .timedOut, "No progress for \(Console.count(seconds, "second"))",
          remedy: "Run hostedcontent queue to see what waits, then run the command again"))
    }
    feed()
    timer.resume()
  }

  deinit { timer.cancel() }

  /// Stops the timeout until `feed` is called.
  func pause() { timer.schedule(deadline: .distantFuture) }

  func feed() { timer.schedule(deadline: .now() + .seconds(seconds)) }
}
