import ContentModel
import Dispatch
import FoundationEssentials
import Glibc
import HostedContent
import Locks

/// One run of `get` or `update`: brings products to the offered version and finishes what it started.
///
/// An observer like any service's: it starts what was purchased, finishes what is installed, and
/// leaves a failed download's transaction open, so that the next run goes on.
final class InstallSession: PaymentTransactionObserver {
  static let options: [Command.Option] =
    [
      .store, .library,
      .init("--account", "NAME", "the buyer's account; default: the library's own"),
      .init("--grants", "FILE", "where grants are remembered; default: in the library"),
      .init(
        "--timeout", "SECONDS", "end with an error after this long without progress; default 90"),
    ] + NetworkArguments.options + NetworkArguments.transferOptions

  private let queue: PaymentQueue
  private let console: Console
  private let account: String?
  private let progress: ProgressLines
  private let watchdog: Watchdog
  private let signals: StopSignals?
  /// Where callbacks come; decisions about a transaction are made here only, one after the other.
  private let callbacks = DispatchQueue(label: "hostedcontent.session")
  private let state = Mutex(State())

  private let closingSeconds: Int
  /// Where the queue is closed after an abort.
  private let closing = DispatchQueue(label: "hostedcontent.closing")

  /// How often a product is tried: what failed once for a passing reason is healed.
  private static let tries = 2
  /// How often a transaction is asked to be finished while the journal cannot be written.
  private static let finishTries = 3

  private struct State {
    /// What is waited for, by transaction.
    var works: [String: Work] = [:]
    /// How many failures the queue reported that belong to no transaction, and the last one.
    var failureCount = 0
    var lastFailure: ContentError?
    /// Set once nothing may go on: interrupted, or out of time.
    var abort: ContentError?
  }

  private struct Work {
    let waiter: CheckedContinuation<ContentError?, Never>
    /// The count of failures before an update was asked for, which the queue may drop with no other
    /// sign than a failure; nil for what is always answered.
    let failuresBefore: Int?
    /// Nil until a new transaction was reported.
    var transaction: PaymentTransaction?
    var isStarted = false
    /// Whether a download was seen on its way since; what was reported before is of an earlier run.
    var hasMoved = false
    var finishRequests = 0
  }

  convenience init(_ arguments: Arguments, _ console: Console) throws {
    let seconds = try arguments.number("--timeout", least: 1) ?? 90
    try self.init(
      arguments.queueConfiguration(console), account: arguments.text("--account"), seconds: seconds,
      console,
      signals: StopSignals())
  }

  init(
    _ configuration: PaymentQueue.Configuration, account: String?, seconds: Int, _ console: Console,
    signals: StopSignals?, closingSeconds: Int = 5
  ) throws {
    self.closingSeconds = closingSeconds
    self.console = console
    self.account = account
    self.signals = signals
    var configuration = configuration
    configuration.deliveryQueue = callbacks
    queue = try PaymentQueue(configuration)
    progress = ProgressLines(console)
    watchdog = Watchdog(seconds: seconds)
    watchdog.onExpiry = { [weak self] in self?.abort(with: $0) }
    signals?.onSignal = { [weak self] in self?.abort(with: $0) }
  }

  /// Stops what runs; what was fetched is kept.
  ///
  /// After an abort it waits for a bounded time only: work that hangs in a system call, as on a
  /// network disk, is ended with the process, which it survives as it survives a crash.
  func close() {
    progress.end()
    guard state.withLock({ $0.abort }) != nil else { return queue.close() }
    let closed = DispatchSemaphore(value: 0)
    closing.async { closed.signal() }
    _ = closed.wait(timeout: .now() + .seconds(closingSeconds))
  }

  /// Products with installed content of which the store has a newer version, and those whose
  /// update was begun and not finished.
  func outdated() async throws -> [String] {
    let begun = queue.transactions.filter { $0.transactionState == .restored }
      .map(\.payment.productIdentifier)
    let outdated = try await queue.updates().map(\.productIdentifier)
    return Set(begun + outdated).sorted().map(\.rawValue)
  }

  /// Brings each product to the offered version; true when all are.
  ///
  /// Unless `mayBuy`, what the account was never granted is an error.
  func install(_ texts: [String], mayBuy: Bool) async -> Bool {
    let response: ProductsResponse
    do {
      response = try await queue.products(Set(texts))
    } catch {
      console.report(ContentError(error, while: "looking up products"))
      return false
    }
    response.failures.forEach(console.report)
    for text in Set(texts).sorted() where response.invalidProductIdentifiers.contains(text) {
      console.report(.unknownProduct(text))
    }
    let unfinished = queue.transactions
    queue.add(self)
    // A seller may list a product twice; it is still one product.
    var seen: Set<ProductIdentifier> = []
    let products = response.products.filter { seen.insert($0.productIdentifier).inserted }
    queue.setMaximumActiveDownloads(Self.activeDownloads(for: products))
    let left = await withTaskGroup(of: ProductIdentifier?.self) { group in
      for product in products {
        group.addTask {
          await self.install(product, unfinished, mayBuy) ? nil : product.productIdentifier
        }
      }
      return await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
    }
    progress.end()
    if let abort = state.withLock({ $0.abort }), !left.isEmpty {
      console.report(abort.before(left))
    }
    return left.isEmpty && response.invalidProductIdentifiers.isEmpty && response.failures.isEmpty
  }

  /// How many downloads suit `products`: as many as are 16 MB together, 3 to 32.
  ///
  /// Small ones wait for answers and for the disk's syncs rather than for bytes, and the more wait at
  /// the same time, the more share both.
  static func activeDownloads(for products: [Product]) -> Int {
    let lengths = products.flatMap(\.contents).map(\.package.length)
    guard !lengths.isEmpty else { return 3 }
    let average = lengths.reduce(0, +) / Int64(lengths.count)
    return Int(min(32, max(3, (16 << 20) / max(1, average))))
  }

  /// Takes the steps that one product needs, until the offered version is installed.
  private func install(
    _ product: Product, _ unfinished: [PaymentTransaction], _ mayBuy: Bool
  ) async -> Bool {
    let identifier = product.productIdentifier
    do {
      try await takeSteps(product, unfinished.filter { $0.isFor(identifier) }, mayBuy)
      let versions = try installedVersions(of: product)
      guard !versions.isEmpty || product.contents.isEmpty else {
        throw ContentError.notDelivered(identifier)
      }
      progress.print((versions.isEmpty ? identifier.rawValue : versions) + ": installed")
      return true
    } catch {
      // What stops the whole command is said once, at its end.
      if state.withLock({ $0.abort }) == nil {
        let error = ContentError(error, while: "installing \(identifier)")
        progress.report(error.naming(identifier))
      }
      return false
    }
  }

  /// The product's contents that are installed, with their versions.
  ///
  /// An update leaves alone what was never installed, so that they need not be all.
  private func installedVersions(of product: Product) throws -> String {
    try product.contents.compactMap { offer in
      try queue.installedVersion(of: offer.contentIdentifier).map {
        "\(offer.contentIdentifier) \($0)"
      }
    }.joined(separator: ", ")
  }

  private func takeSteps(
    _ product: Product, _ unfinished: [PaymentTransaction], _ mayBuy: Bool
  ) async throws {
    let identifier = product.productIdentifier
    var open = unfinished
    var triesLeft = Self.tries
    // Each open transaction, then a purchase or an update for each content; more leads nowhere.
    var stepsLeft = open.count + max(1, product.contents.count)
    // A transaction that was open may be about an older version, hence the second look.
    while let step = try await nextStep(for: product, &open, mayBuy) {
      guard stepsLeft > 0 else { throw ContentError.notDelivered(identifier) }
      guard let error = try await carryOut(step, identifier, mayBuy) else {
        if product.contents.isEmpty { return }
        stepsLeft -= 1
        continue
      }
      triesLeft -= 1
      let isAborted = state.withLock { $0.abort != nil }
      guard error.isRetryable, triesLeft > 0, !isAborted else { throw error }
      open = queue.transactions.filter { $0.isFor(identifier) }
    }
  }

  private enum Step {
    case goOn(PaymentTransaction)
    case buy
    case update(ContentUpdate)
  }

  private func nextStep(
    for product: Product, _ open: inout [PaymentTransaction], _ mayBuy: Bool
  ) async throws -> Step? {
    if let abort = state.withLock({ $0.abort }) { throw abort }
    while let transaction = open.popLast() {
      if transaction.transactionState != .failed { return .goOn(transaction) }
      queue.finishTransaction(transaction)
    }
    if product.contents.isEmpty {
      // What cannot be used up is had once it was granted; nothing is bought twice.
      let isOwned = try await queue.isGranted(product.productIdentifier, account: account)
      return isOwned && product.type == .nonConsumable ? nil : .buy
    }
    for offer in product.contents {
      guard let installed = try queue.installedVersion(of: offer.contentIdentifier) else {
        // A content that came to the product later is for get to fetch, not for an update.
        if mayBuy { return .buy }
        continue
      }
      if installed < offer.version { return .update(ContentUpdate(of: offer, from: installed)) }
    }
    return nil
  }

  /// Begins a step and waits for its end; nil when it succeeded.
  private func carryOut(
    _ step: Step, _ product: ProductIdentifier, _ mayBuy: Bool
  ) async throws -> ContentError? {
    switch step {
    case .goOn(let open): return await end(of: open.id, known: open)
    case .buy: return await end(of: buy(product))
    case .update(let update):
      let failuresBefore = state.withLock { $0.failureCount }
      let transaction: String
      do {
        transaction = try await queue.add(update, applicationUsername: account)
      } catch let error as ContentError where error.code == .notEntitled {
        // Installed for another account: this one buys it, if that was asked for.
        guard mayBuy else { throw error.askingForAccount() }
        return await end(of: buy(product))
      }
      return await end(of: transaction, failuresBefore: failuresBefore)
    }
  }

  private func buy(_ product: ProductIdentifier) -> String {
    queue.add(Payment(productIdentifier: product, applicationUsername: account))
  }

  private func end(
    of transaction: String, known: PaymentTransaction? = nil, failuresBefore: Int? = nil
  ) async -> ContentError? {
    await withCheckedContinuation { continuation in
      let abort = state.withLock { state in
        if state.abort == nil {
          state.works[transaction] = Work(
            waiter: continuation, failuresBefore: failuresBefore, transaction: known)
        }
        return state.abort
      }
      if let abort { return continuation.resume(returning: abort) }
      // What was reported before it was known to be ours is looked at again, between callbacks.
      callbacks.async { self.lookAgain(at: transaction) }
    }
  }

  private func lookAgain(at transaction: String) {
    if let known = queue.transactions.first(where: { $0.id == transaction }) { return goOn(known) }
    let (isGone, failure) = state.withLock { state in
      let work = state.works[transaction]
      let isLost = work?.failuresBefore.map { state.failureCount > $0 } ?? false
      return (work?.transaction != nil, isLost ? state.lastFailure : nil)
    }
    if isGone || failure != nil { end(transaction, failure) }
  }

  private func end(_ transaction: String, _ error: ContentError?) {
    let work = state.withLock { $0.works.removeValue(forKey: transaction) }
    work?.waiter.resume(returning: error)
  }

  private func abort(with error: ContentError) {
    // At once, from here: tasks share their threads with the downloads and may not get one soon.
    closing.async { [queue] in queue.close() }
    let works = state.withLock { state in
      state.abort = state.abort ?? error
      defer { state.works = [:] }
      return state.works.values
    }
    works.forEach { $0.waiter.resume(returning: error) }
  }

  /// Whether `download` is one of ours and what it says is of this run, not of an earlier one.
  private func hasBegun(_ download: Download) -> Bool {
    guard let work = state.withLock({ $0.works[download.transaction.id] }) else { return false }
    return switch download.state {
    case .waiting, .active, .finished: true
    case .paused, .failed, .cancelled: work.hasMoved
    }
  }

  // MARK: Observing

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    watchdog.feed()
    for transaction in transactions { goOn(transaction) }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    watchdog.feed()
    let ours = downloads.filter { hasBegun($0) }
    progress.show(ours)
    for transaction in Set(downloads.map(\.transaction)) { goOn(transaction) }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    for transaction in transactions { end(transaction.id, nil) }
  }

  /// A failure names no transaction unless it refuses something, so it is held against those that
  /// wait for what cannot be reported otherwise: an end that was asked for, and a beginning.
  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    let (again, lost) = state.withLock { state in
      state.failureCount += 1
      state.lastFailure = error
      var again: [PaymentTransaction] = []
      var lost: [String] = []
      for (id, work) in state.works {
        let isLost = work.transaction == nil && work.failuresBefore != nil
        if isLost || id == error.subject || work.finishRequests >= Self.finishTries {
          lost.append(id)
        } else if work.finishRequests > 0 {
          again += [work.transaction].compactMap(\.self)
          state.works[id]?.finishRequests += 1
        }
      }
      return (again, lost)
    }
    again.forEach(queue.finishTransaction)
    for transaction in lost { end(transaction, error) }
    if again.isEmpty, lost.isEmpty { progress.report(error) }
  }

  /// Does what a transaction's state asks for, if it is one of ours.
  private func goOn(_ transaction: PaymentTransaction) {
    let isOurs = state.withLock { state in
      state.works[transaction.id]?.transaction = transaction
      return state.works[transaction.id] != nil
    }
    guard isOurs else { return }
    switch transaction.transactionState {
    case .purchasing: break
    case .deferred: end(transaction.id, .deferred(transaction.payment.productIdentifier))
    case .failed:
      queue.finishTransaction(transaction)
      end(
        transaction.id, transaction.error ?? .notDelivered(transaction.payment.productIdentifier))
    case .purchased, .restored: goOn(withDownloadsOf: transaction)
    }
  }

  private func goOn(withDownloadsOf transaction: PaymentTransaction) {
    let downloads = transaction.downloads
    if downloads.allSatisfy({ $0.state == .finished }) {
      state.withLock { state in
        let requests = state.works[transaction.id]?.finishRequests ?? 0
        state.works[transaction.id]?.finishRequests = max(1, requests)
      }
      return queue.finishTransaction(transaction)
    }
    let isMoving = downloads.contains { $0.state == .active || $0.state == .waiting }
    let (mustStart, hasStopped) = state.withLock { state in
      guard let work = state.works[transaction.id] else { return (false, false) }
      state.works[transaction.id]?.isStarted = true
      if work.isStarted, isMoving { state.works[transaction.id]?.hasMoved = true }
      return (!work.isStarted, work.hasMoved && !isMoving)
    }
    // Those that an earlier run left paused or failed are tried again, too.
    if mustStart { queue.start(downloads) }
    if hasStopped {
      let error = downloads.lazy.compactMap(\.error).first
      end(transaction.id, error ?? .downloadsStopped(transaction.payment.productIdentifier))
    }
  }
}

extension PaymentTransaction {
  fileprivate func isFor(_ product: ProductIdentifier) -> Bool {
    payment.productIdentifier == product
  }
}

extension ContentError {
  fileprivate static func deferred(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .notEntitled, "The purchase of \(product) waits for a decision",
      remedy: "Run the command again once it was decided", subject: product.rawValue)
  }

  fileprivate static func downloadsStopped(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .stopped, "The downloads of \(product) were stopped", remedy: "Run the command again",
      subject: product.rawValue)
  }

  fileprivate static func notDelivered(_ product: ProductIdentifier) -> ContentError {
    ContentError(
      .inconsistent, "\(product) was sold, but its offered version is still not installed",
      remedy: "Look at hostedcontent list and queue, and report what they say",
      subject: product.rawValue)
  }

  fileprivate func askingForAccount() -> ContentError {
    ContentError(
      code, message,
      remedy: "Name the account that bought it with --account, or use hostedcontent get",
      subject: subject, cause: cause)
  }

  /// The same error with the product's name in it: a message about a file alone would not say which
  /// of several products is not installed.
  fileprivate func naming(_ product: ProductIdentifier) -> ContentError {
    guard !description.contains(product.rawValue) else { return about(product.rawValue) }
    return ContentError(
      code, "\(product): \(message)", remedy: remedy, subject: product.rawValue, cause: cause)
  }

  /// The same error, with what it kept from being installed.
  fileprivate func before(_ products: [ProductIdentifier]) -> ContentError {
    let names = products.map(\.rawValue).sorted().joined(separator: ", ")
    return ContentError(
      code, "\(message); not installed: \(names)", remedy: remedy, subject: subject, cause: cause)
  }
}
