import HostedConcurrency
import HostedLibrary
public import HostedModel
public import HostedTransfer
import HostedFileIO
import FoundationEssentials

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
  let store: StoreAccess
  let sources: ContentSources
  /// Nil if contents are not looked up in a catalog.
  let contents: SignedContents?
  /// Nil if `service` replaces the built-in seller.
  let ownService: CatalogStoreService?
  /// Runs repairs and other blocking calls, which must not block the threads of tasks.
  let repairs: BlockingCalls
  let delivery: Delivery
  let engine: Engine
  let lock: LibraryLock
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
    let store = try StoreAccess(
      configuration.storeReader, fileSystem: configuration.fileSystem)
    self.store = store
    let catalog = Catalog(
      of: store, trustedRoot: configuration.trustedRoot,
      trustFolder: try opened.folder.root.createDirectory("trust"), now: configuration.clock.now)
    contents =
      configuration.environment.usesCatalog ? SignedContents(catalog, configuration) : nil
    let builtIn: any StoreService
    if let service = configuration.service {
      (builtIn, ownService) = (service, nil)
    } else {
      let own = try CatalogStoreService(
        configuration, catalog, libraryFolder: opened.folder.root)
      (builtIn, ownService) = (own, own)
    }
    let seller = configuration.seller?(builtIn) ?? builtIn
    sources = ContentSources(
      of: store, services: [seller, builtIn], clock: configuration.clock,
      replacement: configuration.environment.pieceSource)
    repairs = BlockingCalls(execution.signal, start: execution.group().start)
    delivery = Delivery(
      on: execution.line("hostedcontent.delivery", on: configuration.deliveryQueue),
      now: { execution.now }, makeSignal: execution.signal,
      library: ReportLibrary(
        productsPath: opened.folder.products.path, journal: opened.journal),
      transactions: opened.queue.transactions,
      omitsStopped: configuration.omitsStoppedDownloads)
    service = configuration.checkingAnswers(of: seller, contents: contents) { [delivery] in
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

  // MARK: Observers

  /// Adds an observer, held weakly; adding it twice has no effect.
  ///
  /// The first observer receives the unfinished transactions with the launch, a later one at once.
  public func add(_ observer: any PaymentTransactionObserver) {
    if delivery.add(observer) { launch() }
  }

  /// Starts unfinished work; called once, for the first observer, stream or waiting call.
  func launch() {
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

  /// The account's storefront as last reported by the seller; nil if not reported.
  public var storefront: Storefront? { delivery.storefront }

  /// Whether payments can be added; false once the queue is closed.
  public var canMakePayments: Bool { !engine.isClosing }

  // MARK: Transactions

  /// The unfinished transactions in order, as last reported.
  public var transactions: [PaymentTransaction] { delivery.transactions }

  /// Returns the unfinished transaction `id`, as last reported.
  package func transaction(_ id: TransactionID) -> PaymentTransaction? {
    delivery.transaction(id.rawValue)
  }

  /// Adds a payment, which may be equal to an earlier one; returns the transaction's identifier.
  ///
  /// The transaction is reported as `.purchasing`, then with the seller's outcome.
  @discardableResult
  public func add(_ payment: Payment) -> TransactionID {
    let id = newIdentifier()
    add(payment, as: id)
    return TransactionID(rawValue: id)
  }

  func add(_ payment: Payment, as id: String) {
    engine.submit(.paymentAdded(transaction: id, payment))
  }

  /// Approves or declines a deferred payment that was added with `simulatesAskToBuy`.
  ///
  /// An approved payment is bought now. Throws its errors, and `usage` for other transactions.
  public func decideAskToBuy(_ transaction: PaymentTransaction, isApproved: Bool) async throws {
    // A transaction of an earlier queue does not change anymore.
    let transaction = delivery.transaction(transaction.report.id) ?? transaction
    var payment = transaction.payment
    let product = payment.productIdentifier
    guard payment.simulatesAskToBuy, transaction.transactionState == .deferred else {
      throw ContentError(
        .usage, "The transaction for \(product) is not waiting for a simulated decision",
        remedy: "Add a payment with simulatesAskToBuy, and wait until it is deferred",
        subject: transaction.id.rawValue)
    }
    payment.simulatesAskToBuy = false
    let declined = ContentError(
      .notEntitled, "The purchase of \(product) was declined", remedy: "Ask again",
      subject: product.rawValue)
    let outcome =
      try isApproved
      ? await service.purchase(payment, transaction: transaction.id) : .failed(declined)
    engine.answer(transaction.report.id, outcome)
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
    let id = newIdentifier()
    restore(as: id, account: account)
    return RestoreID(rawValue: id)
  }

  func restore(as id: String, account: AccountID?) {
    engine.submit(.restoreRequested(request: id, account: account))
  }

  func newIdentifier() -> String { configuration.environment.newIdentifier() }

  // MARK: Downloads

  /// Starts waiting, paused, failed and cancelled downloads; others do not change.
  public func start(_ downloads: [Download]) {
    engine.submit(.startRequested(downloads: downloads.map(\.record.id)))
  }

  /// Starts downloads; calls `body` on the delivery queue, before the reports of the start.
  func start(
    _ downloads: [Download], of transaction: PaymentTransaction,
    whenBegun body: @escaping @Sendable () -> Void
  ) {
    engine.submit(.startRequested(downloads: downloads.map(\.record.id))) { [delivery] in
      delivery.deliver(about: [transaction.report.id], body)
    }
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
    let id = newIdentifier()
    try await add(update, as: id, applicationUsername: applicationUsername, switching: switching)
    return TransactionID(rawValue: id)
  }

  func add(
    _ update: ContentUpdate, as id: String, applicationUsername: AccountID? = nil, switching: Bool
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
}
