import ContentModel
import Dispatch
import FoundationEssentials
import Glibc
import HostedContent
import Synchronization

/// One run of `get` or `update`: brings products to the offered version and finishes what it started.
///
/// An observer like any service's: it starts what was purchased, finishes what is installed, and
/// leaves a failed download's transaction open, so that the next run goes on.
final class InstallSession: PaymentTransactionObserver {
  static let options: [Command.Option] = [
    .store, .library, .root,
    .init("--account", "NAME", "the buyer's account; default: the library's own"),
    .init("--grants", "FILE", "where grants are remembered; default: in the library"),
    .init("--timeout", "SECONDS", "end with an error after this long without progress; default 90"),
  ]

  private let queue: PaymentQueue
  private let console: Console
  private let account: String?
  private let progress: ProgressLines
  private let watchdog: Watchdog
  private let signals: StopSignals
  private let state = Mutex(State())

  private struct State {
    /// Products that are under way, by their transactions.
    var transactions: [String: ProductIdentifier] = [:]
    var waiting: [ProductIdentifier: CheckedContinuation<ContentError?, Never>] = [:]
    /// Ends that came before somebody waited for them.
    var ended: [ProductIdentifier: ContentError?] = [:]
    /// Set once nothing may go on: interrupted, or out of time.
    var abort: ContentError?
  }

  init(_ arguments: Arguments, _ console: Console) throws {
    self.console = console
    account = arguments.value("--account")
    var configuration = PaymentQueue.Configuration(
      library: try arguments.library(), store: try arguments.storeLocation())
    configuration.trustedRoot = try arguments.trustedRoot()
    configuration.grantsFile = arguments.value("--grants").map { URL(filePath: $0) }
    queue = try PaymentQueue(configuration)
    progress = ProgressLines(console)
    watchdog = Watchdog(seconds: try arguments.number("--timeout", least: 1) ?? 90)
    signals = StopSignals()
    watchdog.onExpiry = { [weak self] in self?.abort(with: $0) }
    signals.onSignal = { [weak self] in self?.abort(with: $0) }
  }

  /// Stops what runs; what was fetched is kept.
  func close() {
    progress.end()
    queue.close()
  }

  /// Products with installed content of which the store has a newer version, and those whose
  /// update was begun and not finished.
  func outdated() async throws -> [String] {
    let begun = queue.transactions.filter { $0.transactionState == .restored }
      .map(\.payment.productIdentifier)
    let outdated = try await queue.updates().map(\.productIdentifier)
    return Set(begun + outdated).sorted().map(\.rawValue)
  }

  /// Whether content of this name is installed.
  func isInstalled(_ text: String) throws -> Bool {
    try queue.installedVersion(of: ProductIdentifier(text)) != nil
  }

  /// Brings each product to the offered version; true when all are.
  func install(_ texts: [String]) async -> Bool {
    let response: ProductsResponse
    do {
      response = try await queue.products(Set(texts))
    } catch {
      console.report(ContentError(error, while: "looking up products"))
      return false
    }
    response.failures.forEach(console.report)
    for text in texts where response.invalidProductIdentifiers.contains(text) {
      console.report(.unknownProduct(text))
    }
    let unfinished = queue.transactions
    queue.add(self)
    let products = response.products
    let results = await withTaskGroup(of: Bool.self) { group in
      for product in products {
        group.addTask { await self.install(product, unfinished) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    progress.end()
    return results.allSatisfy { $0 } && response.invalidProductIdentifiers.isEmpty
      && response.failures.isEmpty
  }

  /// Takes the steps that one product needs, until the offered version is installed.
  private func install(_ product: Product, _ unfinished: [PaymentTransaction]) async -> Bool {
    let identifier = product.productIdentifier
    var open = unfinished.filter { $0.payment.productIdentifier == identifier }
    do {
      // A transaction that was open may be about an older version, hence the second look.
      while let step = try nextStep(for: product, &open) {
        if let error = try await carryOut(step, identifier) { throw error }
        if product.contents.isEmpty { break }
      }
      let version = product.downloadContentVersion.map { " \($0)" } ?? ""
      progress.print("\(identifier)\(version): installed")
      return true
    } catch {
      progress.report(
        ContentError(error, while: "installing \(identifier)").about(identifier.rawValue))
      return false
    }
  }

  private enum Step {
    case goOn(PaymentTransaction)
    case buy
    case update(ContentUpdate)
  }

  private func nextStep(for product: Product, _ open: inout [PaymentTransaction]) throws -> Step? {
    if let abort = state.withLock({ $0.abort }) { throw abort }
    while let transaction = open.popLast() {
      if transaction.transactionState != .failed { return .goOn(transaction) }
      queue.finishTransaction(transaction)
    }
    guard !product.contents.isEmpty else { return .buy }
    for offer in product.contents {
      guard let installed = try queue.installedVersion(of: offer.contentIdentifier) else {
        return .buy
      }
      if installed < offer.version {
        return .update(
          ContentUpdate(of: offer, from: installed))
      }
    }
    return nil
  }

  /// Begins a step and waits for its end; nil when it succeeded.
  private func carryOut(_ step: Step, _ product: ProductIdentifier) async throws -> ContentError? {
    switch step {
    case .goOn(let transaction):
      track(transaction.id, product)
      goOn(transaction, isNew: true)
    case .buy:
      track(queue.add(Payment(productIdentifier: product, applicationUsername: account)), product)
    case .update(let update):
      track(try await queue.add(update, applicationUsername: account), product)
    }
    return await withCheckedContinuation { continuation in
      let early: ContentError?? = state.withLock { state in
        if let abort = state.abort { return .some(abort) }
        if let end = state.ended.removeValue(forKey: product) { return .some(end) }
        state.waiting[product] = continuation
        return nil
      }
      if case .some(let end) = early { continuation.resume(returning: end) }
    }
  }

  private func track(_ transaction: String, _ product: ProductIdentifier) {
    state.withLock { $0.transactions[transaction] = product }
    // What was reported before it was known to be ours is looked at again.
    if let known = queue.transactions.first(where: { $0.id == transaction }) {
      goOn(known, isNew: false)
    }
  }

  private func end(_ transaction: PaymentTransaction, _ error: ContentError?) {
    let continuation = state.withLock { state in
      guard let product = state.transactions.removeValue(forKey: transaction.id) else {
        return nil as CheckedContinuation<ContentError?, Never>?
      }
      if let waiting = state.waiting.removeValue(forKey: product) { return waiting }
      state.ended[product] = .some(error)
      return nil
    }
    continuation?.resume(returning: error)
  }

  private func abort(with error: ContentError) {
    let waiting = state.withLock { state in
      state.abort = state.abort ?? error
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    waiting.forEach { $0.resume(returning: error) }
  }

  private func isOurs(_ transaction: PaymentTransaction) -> Bool {
    state.withLock { $0.transactions[transaction.id] != nil }
  }

  // MARK: Observing

  func paymentQueue(
    _ queue: PaymentQueue, updatedTransactions transactions: [PaymentTransaction]
  ) {
    watchdog.feed()
    for transaction in transactions where isOurs(transaction) { goOn(transaction, isNew: true) }
  }

  func paymentQueue(_ queue: PaymentQueue, updatedDownloads downloads: [Download]) {
    watchdog.feed()
    let ours = downloads.filter { isOurs($0.transaction) }
    progress.show(ours)
    for transaction in Set(ours.map(\.transaction)) { goOn(transaction, isNew: false) }
  }

  func paymentQueue(
    _ queue: PaymentQueue, removedTransactions transactions: [PaymentTransaction]
  ) {
    for transaction in transactions { end(transaction, nil) }
  }

  func paymentQueue(_ queue: PaymentQueue, didFailWith error: ContentError) {
    progress.report(error)
  }

  /// Does what a transaction's state asks for; a new one's downloads are started.
  private func goOn(_ transaction: PaymentTransaction, isNew: Bool) {
    switch transaction.transactionState {
    case .purchasing: break
    case .deferred:
      end(
        transaction,
        ContentError(
          .notEntitled,
          "The purchase of \(transaction.payment.productIdentifier) waits for a decision",
          remedy: "Run the command again once it was decided"))
    case .failed:
      queue.finishTransaction(transaction)
      end(transaction, transaction.error)
    case .purchased, .restored: goOn(withDownloadsOf: transaction, isNew: isNew)
    }
  }

  private func goOn(withDownloadsOf transaction: PaymentTransaction, isNew: Bool) {
    let downloads = transaction.downloads
    if downloads.allSatisfy({ $0.state == .finished }) {
      return queue.finishTransaction(transaction)
    }
    if isNew {
      // Those that an earlier run left paused or failed are tried again, too.
      queue.start(downloads)
    } else if downloads.allSatisfy({ $0.state != .active && $0.state != .waiting }) {
      end(transaction, downloads.lazy.compactMap(\.error).first ?? Self.stopped(transaction))
    }
  }

  private static func stopped(_ transaction: PaymentTransaction) -> ContentError {
    ContentError(
      .stopped, "The downloads of \(transaction.payment.productIdentifier) were stopped",
      remedy: "Run the command again")
  }
}
