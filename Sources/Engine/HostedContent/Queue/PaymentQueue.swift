import HostedShop
package import HostedConcurrency
import HostedLibrary
public import HostedTransfer
package import HostedFileIO
public import FoundationEssentials
public import Dispatch

/// A durable queue of purchases and their downloads, stored in a library folder.
///
/// One queue at a time may use a library. Add an observer at launch: the queue starts with the
/// first observer, reports everything unfinished, and continues where it stopped. All methods may
/// be called from any thread, even inside callbacks. Requests return at once, and their results are
/// reported to the observers; a call that blocks says so. Source: `SKPaymentQueue`.
public final class PaymentQueue: Sendable {
  let configuration: Configuration
  let library: ContentLibrary
  let service: any StoreService
  let sources: ContentSources
  /// Nil if contents are not looked up in a catalog.
  let contents: SignedContents?
  /// Runs repairs and other blocking calls, which must not block the threads of tasks.
  let repairs: BlockingCalls
  let delivery: Delivery
  let engine: Engine
  private let store: StoreAccess
  /// Nil if `service` replaces it.
  private let shop: LocalShop?
  private let lock: LibraryLock
  /// Errors of opening the library, reported to the first observer.
  private let leftovers: [ContentError]

  /// Opens or creates the library, recovers from a crash, and loads the queue; contacts no store.
  ///
  /// Blocks; in a task, call it in `performBlocking`. Throws `tooFewThreads` if the system does not
  /// allow enough threads, `libraryLocked` while another queue uses the library, `libraryNewer` if
  /// newer software wrote it, `libraryFolderTaken` if other files are in its place,
  /// `fileSystemUnsupported` if the file system does not support symbolic links, `usage` for an
  /// invalid configuration, such as a malformed header, `insecureConnectionRefused`,
  /// `journalFailed`, `notPermitted`, `diskFull` and other file errors.
  public init(_ configuration: Configuration) throws {
    try ThreadLimits.require(configuration.requiredThreads, for: "A payment queue")
    if configuration.limitsMemoryArenas { MemoryArenas.limit() }
    self.configuration = configuration
    let opened = try OpenedLibrary(configuration)
    (library, lock, leftovers) = (opened.library, opened.lock, opened.errors)
    let execution = configuration.environment.execution
    let store = try StoreAccess(configuration.storeReader, fileSystem: configuration.fileSystem)
    self.store = store
    let catalog = Catalog(
      of: store, trustedRoot: configuration.trustedRoot,
      trustFolder: try opened.folder.root.createDirectory("trust"), now: configuration.clock.now)
    contents = configuration.environment.usesCatalog ? SignedContents(catalog, configuration) : nil
    let builtIn: any StoreService
    if let service = configuration.service {
      (builtIn, shop) = (service, nil)
    } else {
      let local = try LocalShop(configuration, catalog, libraryFolder: opened.folder.root)
      (builtIn, shop) = (local, local)
    }
    let chosen = configuration.seller?(builtIn) ?? builtIn
    sources = ContentSources(
      of: store, services: [chosen, builtIn], clock: configuration.clock,
      replacement: configuration.environment.pieceSource)
    repairs = BlockingCalls(execution.signal, start: execution.group().start)
    delivery = Delivery(
      on: execution.line("hostedcontent.delivery", on: configuration.deliveryQueue),
      now: { execution.now }, makeSignal: execution.signal,
      library: ReportLibrary(
        productsPath: opened.folder.products.path, journal: opened.journal),
      transactions: opened.queue.transactions,
      omitsStopped: configuration.omitsStoppedDownloads)
    service = configuration.checkingAnswers(of: chosen, contents: contents) { [delivery] in
      delivery.report(error: $0)
    }
    engine = Engine(
      of: opened, configuration, contents: contents, sources: sources, delivery: delivery,
      service: service)
    delivery.attach(to: self)
    if let server = configuration.service as? HTTPStoreService {
      server.note(accounts: try opened.journal.accounts(of: nil))
    }
    engine.listen(after: opened.queue.storeCursor)
  }

  deinit { close() }

  /// Stops all downloads, keeps fetched data, and waits until the queue is idle.
  ///
  /// When it returns, another queue may open the library, and this one no longer changes it.
  /// Observers and the delegate are not called anymore. Within such a call, `close` does not wait
  /// for that call. Later requests to this queue are ignored. Waits at most 5 seconds for running
  /// calls of observers and of the service.
  public func close() {
    let environment = configuration.environment
    let deadline = environment.execution.now + environment.closingLimit
    engine.stop()
    store.close()
    sources.grants?.close()
    repairs.close()
    shop?.close()
    contents?.close()
    engine.wait(until: deadline)
    delivery.close(until: deadline)
    engine.journal.emptyLog()
    lock.release()
    delivery.endStreams()
  }

  /// Closes the queue without blocking the caller's thread; see `close()`.
  public func shutDown() async { await performBlocking { self.close() } }

  /// Waits until the service has acknowledged all finished purchases, for `limit` at most.
  ///
  /// The others are sent after the next launch. Ends when the queue is closed.
  package func waitForNotices(_ limit: DispatchTimeInterval) async {
    await performBlocking { [engine, configuration] in
      engine.waitForNotices(until: configuration.environment.execution.now + limit)
    }
  }

  // MARK: Observers

  /// Adds an observer, held weakly; adding it twice has no effect.
  ///
  /// The first observer receives the unfinished transactions with the launch, a later one at once.
  public func add(_ observer: any PaymentTransactionObserver) {
    if delivery.add(observer) { launch() }
  }

  /// Starts unfinished work; called once, for the first observer, stream or waiting call.
  private func launch() {
    engine.submit(.launched)
    leftovers.forEach(delivery.report(error:))
  }

  /// Removes an observer; if this runs on the delivery queue, the observer is not called again.
  ///
  /// If it runs on another thread, one call that has begun may still be in progress.
  public func remove(_ observer: any PaymentTransactionObserver) { delivery.remove(observer) }

  /// The current observers.
  public var transactionObservers: [any PaymentTransactionObserver] { delivery.observers }

  /// The delegate that decides whether a transaction continues; held weakly.
  public var delegate: (any PaymentQueueDelegate)? {
    get { delivery.delegate }
    set { delivery.delegate = newValue }
  }

  /// The account's storefront as last reported by the service; nil if not reported.
  public var storefront: Storefront? { delivery.storefront }

  /// Returns the storefront as last reported, or asks the service before the first report.
  package func currentStorefront() async -> Storefront? {
    if let storefront { return storefront }
    return await service.storefront()
  }

  /// Whether payments can be added; false once the queue is closed.
  public var canMakePayments: Bool { !engine.isClosing }

  // MARK: Transactions

  /// The unfinished transactions in order, as last reported.
  public var transactions: [PaymentTransaction] { delivery.transactions }

  /// Returns the unfinished transaction `id`, as last reported.
  package func transaction(_ id: TransactionID) -> PaymentTransaction? {
    delivery.transaction(id)
  }

  /// Adds a payment, which may be equal to an earlier one; returns the transaction's identifier.
  ///
  /// The transaction is reported as `.purchasing`, then with the service's outcome.
  @discardableResult
  public func add(_ payment: Payment) -> TransactionID {
    let id = newTransaction()
    engine.submit(.paymentAdded(transaction: id, payment))
    return id
  }

  /// Approves or declines a deferred transaction, as another person or a payment would.
  ///
  /// Without a `service`, it is any deferred transaction: if it asked to buy, an approval asks
  /// `Configuration.decider`, and otherwise sells it. With a `service`, it is one with
  /// `simulatesAskToBuy`, which is then bought without it. Throws `serviceFailed` if the purchase
  /// is undecided, and `usage` for other transactions.
  public func decideAskToBuy(_ transaction: PaymentTransaction, isApproved: Bool) async throws {
    // A transaction of an earlier queue does not change anymore.
    let transaction = delivery.transaction(transaction.report.id) ?? transaction
    var payment = transaction.payment
    let product = payment.productIdentifier
    guard transaction.transactionState == .deferred, payment.simulatesAskToBuy || shop != nil else {
      throw ContentError(
        .usage, "The transaction for \(product) does not wait for a decision",
        remedy: "Wait until it is deferred, and decide once", subject: transaction.id.rawValue)
    }
    let change = isApproved ? PurchaseChange.approve : .decline(reason: "")
    let outcome: PurchaseOutcome
    if try await shop?.change(transaction.id, change) == true {
      outcome = await self.outcome(of: payment, transaction.id)
    } else if isApproved {
      payment.simulatesAskToBuy = false
      outcome = await self.outcome(of: payment, transaction.id)
    } else {
      outcome = .failed(
        ContentError(
          .purchaseDeclined, "The purchase of \(product) was declined", remedy: "Ask again",
          subject: product.rawValue))
    }
    if case .undecided(let error) = outcome {
      try Task.checkCancellation()
      throw error
    }
    engine.answer(transaction.report.id, outcome)
  }

  /// Asks the service again about a deferred transaction; returns its outcome.
  package func ask(about transaction: PaymentTransaction) async -> PurchaseOutcome {
    let outcome = await outcome(of: transaction.payment, transaction.id)
    engine.answer(transaction.report.id, outcome)
    return outcome
  }

  /// Asks the service about a payment that was sent before.
  private func outcome(of payment: Payment, _ id: TransactionID) async -> PurchaseOutcome {
    let order = PurchaseOrder(payment: payment, transaction: id, isRepeated: true)
    return await service.outcomes(of: [order])[0]
  }

  /// Removes a transaction from the queue; its unfinished downloads are cancelled.
  ///
  /// Finish purchased, restored and failed transactions after handling them. A `.purchasing` or
  /// `.deferred` one is refused: `paymentQueue(_:didFailWith:)` receives `cannotFinish`.
  public func finishTransaction(_ transaction: PaymentTransaction) {
    engine.submit(.finishRequested(transaction: transaction.report.id))
  }

  /// Restores the account's finished purchases as new `.restored` transactions.
  ///
  /// Each has its `original` and new downloads, which wait to be started. The end of the restore
  /// does not wait for the downloads: it is reported by
  /// `paymentQueueRestoreCompletedTransactionsFinished` or `…FailedWithError`. Restoring nothing is
  /// a success. Unfinished transactions of an earlier restore are reported again, not duplicated. A
  /// second restore meanwhile is refused with `restoreUnderWay`; the error's subject is its
  /// identifier. Returns the restore's identifier.
  @discardableResult
  public func restoreCompletedTransactions(
    withApplicationUsername account: AccountID? = nil
  ) -> RestoreID {
    let id = newRestore()
    engine.submit(.restoreRequested(request: id, account: account))
    return id
  }

  private func newTransaction() -> TransactionID { configuration.environment.newTransaction() }

  private func newRestore() -> RestoreID {
    RestoreID(rawValue: configuration.environment.newIdentifier())
  }

  // MARK: Downloads

  /// Starts waiting, paused, failed and cancelled downloads; others do not change.
  public func start(_ downloads: [Download]) {
    engine.submit(.startRequested(downloads: downloads.map(\.record.id)))
  }

  /// Pauses waiting and active downloads and keeps their data; others do not change.
  public func pause(_ downloads: [Download]) {
    engine.submit(.pauseRequested(downloads: downloads.map(\.record.id)))
  }

  /// Resumes paused and failed downloads; others do not change.
  public func resume(_ downloads: [Download]) {
    engine.submit(.resumeRequested(downloads: downloads.map(\.record.id)))
  }

  /// Cancels unfinished downloads and drops their data; others do not change.
  public func cancel(_ downloads: [Download]) {
    engine.submit(.cancelRequested(downloads: downloads.map(\.record.id)))
  }

  /// Sets the maximum number of active downloads, 1 to 32, or the nearest of these for another
  /// number; running downloads continue.
  public func setMaximumActiveDownloads(_ limit: Int) { engine.submit(.activeLimitChanged(limit)) }

  /// Sets the priority of downloads, −1000 to 1000; 0 by default, kept until the queue is closed.
  ///
  /// The nearest of these is used for another number.
  /// Downloads of higher priority start, connect and receive data first, even if already running.
  public func setPriority(_ priority: Int, of downloads: [Download]) {
    engine.submit(.priorityChanged(downloads: downloads.map(\.record.id), priority))
  }

  /// The limits for concurrent transfers and their rate.
  ///
  /// A change takes effect at once, even for transfers in progress. For a store in a folder, only
  /// the rate is limited.
  public var transferLimits: TransferLimits {
    get { store.limits }
    set { store.limits = newValue }
  }

  // MARK: Products and updates

  /// Looks up products by identifier; the response lists invalid identifiers.
  public func products(_ identifiers: Set<String>) async throws -> ProductsResponse {
    try await ProductsResponse(to: identifiers, from: service.products)
  }

  /// Creates a request for products that calls a delegate; the response lists invalid identifiers.
  public func productsRequest(_ identifiers: Set<String>) -> ProductsRequest {
    ProductsRequest(identifiers, service: service)
  }

  /// Returns the updates that the store offers; throws if the catalog cannot be read.
  ///
  /// Products that cannot be read are omitted and reported to the observers as errors.
  public func availableUpdates() async throws -> [ContentUpdate] {
    try await compareWithCatalog().updates
  }

  /// Compares installed contents with the catalog; observers receive errors of unreadable products.
  func compareWithCatalog() async throws -> UpdateComparison {
    let known = try await repairs.run { [library] in try library.journal.installed() }
    let response = try await service.products(Set(known.map(\.productIdentifier)))
    response.failures.forEach(delivery.report(error:))
    // Read again, because downloads may have ended meanwhile.
    return try await repairs.run { [library] in try library.comparison(with: response.products) }
  }

  /// Adds a restored transaction with the download of `update`; start it, then finish it.
  ///
  /// If `switching` is false, the version is installed beside the current one; `use(_:of:)` makes
  /// it current. Returns the transaction's identifier. Throws `notEntitled` if the account was
  /// never granted the product, and `productUnknown` if the store no longer offers it in this
  /// version.
  @discardableResult
  public func add(
    _ update: ContentUpdate, applicationUsername: AccountID? = nil, switching: Bool = true
  ) async throws -> TransactionID {
    let id = newTransaction()
    try await add(update, as: id, applicationUsername: applicationUsername, switching: switching)
    return id
  }

  private func add(
    _ update: ContentUpdate, as id: TransactionID, applicationUsername: AccountID? = nil,
    switching: Bool
  ) async throws {
    let product = update.productIdentifier
    guard let original = try await service.latest(of: product, account: applicationUsername) else {
      throw ContentError(
        .notEntitled, "The account was never granted \(product)", remedy: "Buy it first",
        subject: product.rawValue)
    }
    let offers = try await service.products([product]).products.first?.contents ?? []
    var contents = offers.filter(update.isOf)
    if let signed = self.contents { contents = await signed.offers(for: contents, of: product) }
    contents = contents.filter(update.isOf)
    guard !contents.isEmpty else {
      throw ContentError(
        .productUnknown,
        "The store no longer offers \(update.contentIdentifier) \(update.offered)",
        remedy: "Check for updates again", subject: product.rawValue)
    }
    if let problem = contents.compactMap(\.problem).first { throw problem }
    engine.submit(
      .restored(
        transaction: id, original: original, contents: contents,
        purpose: .update(switching: switching)))
  }

  /// Returns the grants of `account`, oldest first; nil means the library's own account.
  public func grants(account: AccountID? = nil) async throws -> [Grant] {
    try await service.grants(account: account)
  }

  /// Returns whether the account was granted `product`; nil means the library's own account.
  public func isGranted(_ product: ProductIdentifier, account: AccountID? = nil) async throws
    -> Bool
  {
    try await service.latest(of: product, account: account) != nil
  }

  // MARK: Streams and statistics

  /// Returns a new stream of reports, among the first of which are the unfinished transactions.
  ///
  /// A stream counts as an observer: the first one starts the queue. It ends when its task is
  /// cancelled or the queue is closed. Reports are buffered without limit until they are read.
  /// Revocations, promoted payments and storefronts are reported to observers only.
  public func reports() -> AsyncStream<QueueReport> {
    AsyncStream { sender in
      if delivery.add(sender) { launch() }
    }
  }

  /// Returns the reports about one transaction or restore from now on, and their sender.
  func signals(about id: some QueueIdentifier) -> (
    stream: AsyncStream<StreamSignal>, sender: ReportRouter.Sender
  ) {
    let signals = delivery.router.signals(about: id)
    if delivery.beginObserving() { launch() }
    return signals
  }

  /// Returns the events from now on; ends when its task is cancelled or the queue is closed.
  ///
  /// Keeps the newest 1,000 unread events.
  public func diagnosticEvents() -> AsyncStream<DiagnosticEvent> { engine.diagnostics.events() }

  /// What the queue has done since it was opened.
  public var statistics: QueueStatistics { engine.diagnostics.statistics }

  // MARK: Complete tasks, without an observer
  //
  // If a call's task is cancelled, the call cancels the downloads that it waits for and throws
  // `CancellationError`; purchases, finishes and restores continue. Once the queue is closed, it
  // throws the same or `stopped`, and downloads keep their data.

  /// Buys, downloads, installs and finishes; returns the folders of the installed contents.
  ///
  /// Throws the error of the purchase or of the first download that failed. If a download fails,
  /// its transaction stays open, so call `install` to try again.
  public func deliver(_ payment: Payment) async throws -> [URL] {
    try await complete(purchase(payment))
  }

  /// Installs an update and finishes its transaction; returns the folders of the contents.
  ///
  /// Continues an update to the same version that was started before.
  public func deliver(_ update: ContentUpdate, switching: Bool = true) async throws -> [URL] {
    let begun = transactions.first {
      $0.transactionState == .restored
        && $0.downloads.contains { $0.isOf(update, switching: switching) }
    }
    if let begun { return try await complete(begun) }
    let id = newTransaction()
    let signals = signals(about: id).stream
    try await add(update, as: id, switching: switching)
    let transaction: PaymentTransaction = try await signals.firstValue { report in
      if case .failure(let error) = report { throw error }
      return report.transaction
    }
    return try await complete(transaction)
  }

  /// Installs and finishes a transaction; returns the folders of its contents.
  private func complete(_ transaction: PaymentTransaction) async throws -> [URL] {
    let folders = try await install(transaction)
    try await finish(transaction)
    return folders
  }

  /// Buys a product; returns the purchased transaction, whose downloads are waiting.
  ///
  /// Throws the error of a failed transaction after finishing it, and `awaitingDecision` if the
  /// purchase is deferred. Waits as long as it is undecided, which is reported to observers.
  /// Cancelling the task does not take the payment back.
  public func purchase(_ payment: Payment) async throws -> PaymentTransaction {
    let id = newTransaction()
    let signals = signals(about: id).stream
    engine.submit(.paymentAdded(transaction: id, payment))
    let transaction = try await signals.firstValue { report -> PaymentTransaction? in
      if case .failure(let error) = report, error.code == .transactionExists { throw error }
      guard let transaction = report.transaction else { return nil }
      switch transaction.transactionState {
      case .purchasing: return nil
      case .purchased, .restored, .failed: return transaction
      case .deferred:
        let product = payment.productIdentifier
        throw ContentError(
          .awaitingDecision, "The purchase of \(product) waits for an approval or a payment",
          remedy: "Wait until its transaction is purchased or failed", subject: id.rawValue)
      }
    }
    guard transaction.transactionState == .failed else { return transaction }
    let error = transaction.error ?? ContentError.notOffered(payment.productIdentifier.rawValue)
    // A process that ends because of this error must not report the transaction again. If it cannot
    // be finished, the next launch reports it.
    try? await finish(transaction)
    throw error
  }

  /// Starts a transaction's downloads and waits for them; returns the installed folders.
  ///
  /// Throws the error of the first download that failed, and `stopped` for one that was cancelled;
  /// the others continue. Waits while a download is paused.
  public func install(_ transaction: PaymentTransaction) async throws -> [URL] {
    let (signals, sender) = signals(about: transaction.report.id)
    // A transaction of an earlier queue does not change anymore.
    let current = delivery.transaction(transaction.report.id)
    var awaited = AwaitedDownloads(of: current ?? transaction)
    guard !awaited.left.isEmpty else { return awaited.folders }
    // Nothing is reported about a removed transaction.
    guard current != nil else { throw awaited.cancelled }
    do {
      engine.submit(.startRequested(downloads: awaited.left.map(\.record.id))) { [delivery] in
        // Before the reports of the start.
        delivery.deliver(about: [transaction.report.id]) { sender.yield(.begun) }
      }
      for await signal in signals where try awaited.take(signal) { return awaited.folders }
      throw CancellationError()
    } catch is CancellationError {
      cancel(Array(awaited.left))
      throw CancellationError()
    }
  }

  /// Finishes a transaction and waits until it is removed.
  ///
  /// Returns at once if it is removed already. Throws `cannotFinish` for a `.purchasing` or
  /// `.deferred` one.
  public func finish(_ transaction: PaymentTransaction) async throws {
    let signals = signals(about: transaction.report.id).stream
    guard delivery.transaction(transaction.report.id) != nil else { return }
    finishTransaction(transaction)
    try await signals.firstValue { report -> Void? in
      switch report {
      case .removed: ()
      case .failure(let error): throw error
      case .transactions, .downloads, .restoreEnded: nil
      }
    }
  }

  /// Restores the account's purchases; returns their transactions, whose downloads are waiting.
  ///
  /// Throws the error of the restore; purchases restored before the error stay in the queue. Also
  /// throws `serviceNotResponding` if the service is late; the restore then continues. Throws
  /// `restoreUnderWay` during another restore.
  public func restore(withApplicationUsername account: AccountID? = nil) async throws
    -> [PaymentTransaction]
  {
    let id = newRestore()
    let signals = signals(about: id).stream
    engine.submit(.restoreRequested(request: id, account: account))
    return try await signals.firstValue { report in
      switch report {
      case .restoreEnded(let result):
        if let error = result.error { throw error }
        return result.transactions
      case .failure(let error): throw error
      case .transactions, .downloads, .removed: return nil
      }
    }
  }

  /// The configuration of a queue.
  public struct Configuration: Sendable, CustomStringConvertible {
    /// The library's folder; created if it does not exist.
    public var library: URL
    /// The store that content comes from.
    public var store: StoreLocation
    /// The store's trusted root (TUF root metadata); nil uses the root of a local store, once.
    ///
    /// If the library already trusts another root, this root is refused with `rootMismatch`, unless
    /// the store has a chain of roots between the two, each signed by the keys of the one before.
    ///
    /// With a `service` and a store on the web, set it too: the contents of the service's responses
    /// can be looked up only in a catalog with a trusted root. Without a root, the service is
    /// trusted for them.
    public var trustedRoot: [UInt8]?
    /// Whether the first root of a store on the web is trusted; trusted roots must sign later ones.
    public var trustsOnFirstUse = false
    /// Other web servers with the same files, tried in order of their health.
    public var mirrors: [StoreLocation] = []
    /// The network settings for the store and its mirrors.
    public var network = NetworkSettings()
    /// The store service; nil for the built-in one, which grants every product of the store.
    public var service: (any StoreService)?
    /// The ledger of the built-in store service; nil for `ledger.sqlite` in the library.
    ///
    /// Several libraries and processes may share one file, on a local file system. The first
    /// purchase creates it.
    public var ledgerFile: URL?
    /// Decides about purchases without a `service`; nil approves each one.
    public var decider: (any PurchaseDecider)?
    /// The key that the built-in store service signs receipts with; nil for no receipts.
    public var receiptKey: ReceiptSigningKey?
    /// The verifier of receipts; nil verifies those of a `service` with the receipt keys that the
    /// store's catalog lists, and those of the built-in store service with `receiptKey`.
    ///
    /// If there are such keys, every purchase must have a receipt that is accepted; otherwise the
    /// purchase fails. In other cases receipts are not checked.
    public var receiptVerifier: ReceiptVerifier?
    /// The maximum number of active downloads, 1 to 32, or the nearest of these.
    public var maximumActiveDownloads = 3
    /// The time after which an unanswered purchase is reported as `serviceNotResponding`.
    ///
    /// The purchase stays open, and other purchases continue.
    public var serviceTimeout = Duration.seconds(60)
    /// What happens to installed content when its product is revoked; it is kept by default.
    public var revokedContent = RevokedContentPolicy.keep
    /// The serial queue on which observers are called; nil for a private one.
    public var deliveryQueue: DispatchQueue?
    /// Whether the first queue limits the memory arenas of glibc in this process.
    ///
    /// By default, glibc creates up to eight arenas per processor, and each keeps free memory. The
    /// limit is `mallopt(M_ARENA_MAX)`; it applies to the whole process and stays. It is not set if
    /// the environment has `MALLOC_ARENA_MAX` or `GLIBC_TUNABLES`.
    public var limitsMemoryArenas = true

    /// Wraps the store service to decide about purchases; called once, by `PaymentQueue.init`.
    ///
    /// Its argument is `service`, or the built-in one, which grants every product. Forward all
    /// calls that it does not decide itself: <doc:WritingAStoreService> has an example.
    public var seller: (@Sendable (any StoreService) -> any StoreService)?

    /// Whether downloads are not reported with their unfinished transaction if one of them is
    /// failed, paused or cancelled; for observers that take every reported failure as new.
    package var omitsStoppedDownloads = false
    package var clock = EngineClock.system
    package var fileSystem = FileSystem.real
    package var environment = Environment()

    /// Creates a configuration for a library and a store.
    public init(library: URL, store: StoreLocation) {
      self.library = library
      self.store = store
    }

    /// Reads the store as the queue does, with the library's trusted root and recorded versions.
    public var storeReader: StoreReader {
      StoreReader(
        store, trustedRoot: trustedRoot, trustsOnFirstUse: trustsOnFirstUse, library: library,
        mirrors: mirrors, network: network)
    }

    /// `maximumActiveDownloads` within its bounds.
    var activeLimit: Int { min(32, max(1, maximumActiveDownloads)) }

    /// The locations of the library, the store and its mirrors.
    public var description: String { "library: \(library), store: \(storeReader)" }

    /// The number of threads that a queue needs: its own, and two for each active download.
    ///
    /// Each download fetches on one thread and writes on the other.
    fileprivate var requiredThreads: Int { 8 + 2 * activeLimit }
  }
}

/// What happens to the installed content of a product that an account has lost.
public enum RevokedContentPolicy: Hashable, Sendable, CustomStringConvertible {
  /// It stays installed.
  case keep
  /// It is removed once no account of the library has a grant of the product.
  ///
  /// The accounts are the library's own and those of its transactions, unfinished or finished. The
  /// service is asked for their grants. A version that is leased or that an unfinished transaction
  /// needs is removed later, at the latest after the next start. Pins do not keep it.
  case remove

  /// The name of the policy.
  public var description: String {
    switch self {
    case .keep: "keep"
    case .remove: "remove"
    }
  }
}

extension Download {
  /// Whether it downloads `update` with the same `switching`; false for restored purchases.
  fileprivate func isOf(_ update: ContentUpdate, switching: Bool) -> Bool {
    contentIdentifier == update.contentIdentifier && contentVersion == update.offered
      && record.keepsCurrent == !switching
  }
}

extension QueueReport {
  /// The transaction of this report if it was added or changed state.
  fileprivate var transaction: PaymentTransaction? {
    if case .transactions(let transactions) = self { transactions.first } else { nil }
  }
}

extension AsyncStream<StreamSignal> {
  /// Returns the first value that `transform` finds in the reports.
  ///
  /// Throws `CancellationError` if the reports end.
  fileprivate func firstValue<Value>(_ transform: (QueueReport) throws -> Value?) async throws
    -> Value
  {
    for await case .report(let report) in self {
      if let value = try transform(report) { return value }
    }
    throw CancellationError()
  }
}

/// The downloads of a transaction that are not installed yet.
private struct AwaitedDownloads {
  private let transaction: PaymentTransaction
  private(set) var left: Set<Download>
  /// Whether the downloads were started; an earlier failure is of an earlier attempt.
  private var hasBegun = false

  init(of transaction: PaymentTransaction) {
    self.transaction = transaction
    left = Set(transaction.downloads.filter { $0.state != .finished })
  }

  var folders: [URL] { transaction.downloads.compactMap(\.contentURL) }

  /// The error for the remaining downloads if their transaction is removed.
  var cancelled: any Error {
    left.first.map { ContentError.downloadCancelled($0.contentIdentifier) } ?? CancellationError()
  }

  /// Removes finished downloads; returns whether all are installed.
  ///
  /// Throws the error of a download that failed.
  mutating func take(_ signal: StreamSignal) throws -> Bool {
    switch signal {
    case .begun: hasBegun = true
    case .report(.downloads(let updates)):
      for update in updates where left.contains(update.download) { try take(update) }
    case .report(.removed(let removed)):
      if removed.contains(transaction), !left.isEmpty { throw cancelled }
    case .report(.transactions), .report(.failure), .report(.restoreEnded): break
    }
    return left.isEmpty
  }

  private mutating func take(_ update: DownloadUpdate) throws {
    switch update.state {
    case .finished: left.remove(update.download)
    case .failed:
      if hasBegun, let error = update.error { throw error }
    case .cancelled:
      if hasBegun { throw ContentError.downloadCancelled(update.download.contentIdentifier) }
    case .waiting, .active, .paused: break
    }
  }
}

extension ContentError {
  fileprivate static func downloadCancelled(_ content: ProductIdentifier) -> ContentError {
    ContentError(
      .stopped, "The download of \(content) was cancelled", remedy: "Start the download again",
      subject: content.rawValue)
  }
}
