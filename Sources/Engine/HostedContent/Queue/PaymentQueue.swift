import Concurrency
import ContentLibrary
public import ContentModel
public import ContentTransfer
import FileIO
import FoundationEssentials

/// The queue of purchases and of the downloads that belong to them, durable in a library folder.
///
/// One queue at a time may use a library. Add an observer at launch: nothing is started before the
/// first one is there, and then everything unfinished is reported and goes on where it stopped.
/// All methods may be called from any thread and return at once, also inside callbacks; what they
/// lead to is reported to the observers. Source: `SKPaymentQueue`.
public final class PaymentQueue: Sendable {
  let configuration: Configuration
  let library: ContentLibrary
  let service: any StoreService
  let store: StoreAccess
  let pieceSource: @Sendable () throws -> any PieceSource
  /// Nil if the service vouches for contents.
  let contents: SignedContents?
  /// Nil if another service sells.
  let ownService: CatalogStoreService?
  /// Repairs in progress.
  let repairs: BlockingCalls
  let delivery: Delivery
  let engine: Engine
  let lock: LibraryLock
  /// What could not be removed or read at the start, for the first observer.
  private let leftovers: [ContentError]

  /// Opens or creates the library, finishes what a crash interrupted, and loads the queue.
  ///
  /// Throws `tooFewThreads` if the system does not allow as many threads as the queue needs,
  /// `libraryLocked` while another queue uses the library, `libraryNewer` when newer software wrote
  /// it, `libraryFolderTaken` when the folder has files of somebody else where a library has its
  /// own, `fileSystemUnsupported` where no symbolic link can be made, `journalFailed`,
  /// `notPermitted`, `diskFull` and other file errors. The store is not asked.
  public init(_ configuration: Configuration) throws {
    try ThreadLimits.require(configuration.requiredThreads, for: "A payment queue")
    if configuration.limitsMemoryArenas { MemoryArenas.limit() }
    self.configuration = configuration
    let folder = try LibraryFolder(
      creating: configuration.library.filePath(of: "library"), fileSystem: configuration.fileSystem)
    lock = try LibraryLock(folder.root)
    let execution = configuration.environment.execution
    let journal = try configuration.environment.openJournal(of: folder)
    // Once the journal is known to be a library's.
    try folder.markAsCaches()
    library = ContentLibrary(folder, journal: journal, makeSignal: execution.signal)
    let queue = try journal.readQueue()
    var transactions = queue.transactions
    // A cancelled one drops its bytes; its process may have ended before it did.
    let kept = transactions.flatMap(\.downloads).filter { $0.state != .cancelled }
    leftovers =
      try queue.unreadable + library.recover(keeping: Set(kept.map(\.id)))
      + library.reopenIncomplete(&transactions, journal)

    let store = try StoreAccess(
      configuration.store, mirrors: configuration.mirrors, network: configuration.network,
      trustsOnFirstUse: configuration.trustsOnFirstUse, fileSystem: configuration.fileSystem)
    self.store = store
    pieceSource = configuration.environment.pieceSource ?? { try store.pieceSource() }
    let catalog = Catalog(
      of: store, trustedRoot: configuration.trustedRoot,
      trustFolder: try folder.root.createDirectory("trust"), now: configuration.clock.now)
    contents =
      configuration.environment.usesCatalog ? SignedContents(catalog, configuration) : nil
    let builtIn: any StoreService
    if let service = configuration.service {
      (builtIn, ownService) = (service, nil)
    } else {
      let own = try CatalogStoreService(configuration, catalog, libraryFolder: folder.root)
      (builtIn, ownService) = (own, own)
    }
    let seller = configuration.seller?(builtIn) ?? builtIn
    let repairThreads = execution.group("hostedcontent.repair")
    repairs = BlockingCalls(execution.signal, start: repairThreads.start)
    delivery = Delivery(
      on: execution.line("hostedcontent.delivery", on: configuration.deliveryQueue),
      now: { execution.now }, makeSignal: execution.signal,
      library: ReportLibrary(productsPath: folder.products.path, journal: journal),
      transactions: transactions)
    service = configuration.checkingAnswers(of: seller, contents: contents) { [delivery] in
      delivery.report(error: $0)
    }
    engine = Engine(
      state: QueueState(
        transactions: transactions, lastSequence: queue.lastSequence,
        activeLimit: configuration.maximumActiveDownloads, notices: queue.notices,
        notifiesSeller: service.needsFinishes),
      library: library, journal: journal,
      pipeline: Pipeline(
        library: library, contents: contents, pieceSource: pieceSource, clock: configuration.clock,
        workers: configuration.environment.assemblyWorkers),
      delivery: delivery, service: service, sellerTimeout: configuration.sellerTimeout.inSeconds,
      environment: configuration.environment)
    delivery.attach(to: self)
    engine.listen(to: service, after: queue.storeCursor)
  }

  deinit { close() }

  // MARK: Observers

  /// Adds an observer, held weakly; adding it twice changes nothing.
  ///
  /// It is told what is unfinished: with the launch if it is the first, at once otherwise.
  public func add(_ observer: any PaymentTransactionObserver) {
    if delivery.add(observer) { launch() }
  }

  /// Starts what is unfinished; once, for the first observer, stream or call that waits.
  func launch() {
    engine.submit(.launched)
    leftovers.forEach(delivery.report(error:))
  }

  /// Removes an observer; after this was called on the delivery queue, it is not called any more.
  ///
  /// After a call from another thread, one call that has begun may still be in progress.
  public func remove(_ observer: any PaymentTransactionObserver) { delivery.remove(observer) }

  /// The observers that are still there.
  public var transactionObservers: [any PaymentTransactionObserver] { delivery.observers }

  /// Who is asked whether a transaction goes on; held weakly.
  public var delegate: (any PaymentQueueDelegate)? {
    get { delivery.delegate }
    set { delivery.delegate = newValue }
  }

  /// Where the account buys, as the seller said last; nil when it did not say.
  public var storefront: Storefront? { delivery.storefront }

  /// Whether payments can be added: until the queue is closed.
  public var canMakePayments: Bool { !engine.isClosing }

  // MARK: Transactions

  /// Unfinished transactions in their order, as reported last.
  public var transactions: [PaymentTransaction] { delivery.transactions }

  /// Adds a payment; its transaction is reported as `.purchasing`, then as it is answered.
  ///
  /// Returns the transaction's identifier. The same payment may be added many times.
  @discardableResult
  public func add(_ payment: Payment) -> TransactionID {
    let id = newIdentifier()
    add(payment, as: id)
    return TransactionID(rawValue: id)
  }

  func add(_ payment: Payment, as id: String) {
    engine.submit(.paymentAdded(transaction: id, payment))
  }

  /// Decides a deferred payment that was added with `simulatesAskToBuy`, as a parent would.
  ///
  /// An approved one is bought now. Throws what buying throws; `usage` for other transactions.
  public func decideAskToBuy(_ transaction: PaymentTransaction, isApproved: Bool) async throws {
    // One that an earlier queue gave out does not change any more.
    let transaction = delivery.transaction(transaction.report.id) ?? transaction
    var payment = transaction.payment
    let product = payment.productIdentifier
    guard payment.simulatesAskToBuy, transaction.transactionState == .deferred else {
      throw ContentError(
        .usage, "The transaction for \(product) does not wait for a simulated decision",
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
    engine.submit(.purchaseAnswered(transaction: transaction.report.id, outcome))
  }

  /// Takes a transaction out for good; its unfinished downloads are cancelled.
  ///
  /// Finish what is purchased, failed or restored, once it was delivered. A `.purchasing` or
  /// `.deferred` one is refused with `cannotFinish` through `paymentQueue(_:didFailWith:)`.
  public func finishTransaction(_ transaction: PaymentTransaction) {
    engine.submit(.finishRequested(transaction: transaction.report.id))
  }

  /// Restores the account's finished purchases: each comes as a new `.restored` transaction with
  /// its `original` and fresh downloads, which wait to be started.
  ///
  /// The end is reported apart from the downloads' ends, by
  /// `paymentQueueRestoreCompletedTransactionsFinished` or `…FailedWithError`; nothing to restore
  /// is success. What an earlier restore brought and is unfinished is reported again, not doubled.
  /// A second restore meanwhile is refused with `restoreUnderWay`, its identifier as the subject.
  /// Returns the restore's identifier.
  @discardableResult
  public func restoreCompletedTransactions(
    withApplicationUsername account: String? = nil
  ) -> RestoreID {
    let id = newIdentifier()
    restore(as: id, account: account)
    return RestoreID(rawValue: id)
  }

  func restore(as id: String, account: String?) {
    engine.submit(.restoreRequested(request: id, account: account))
  }

  func newIdentifier() -> String { configuration.environment.newIdentifier() }

  // MARK: Downloads

  /// Starts downloads: waiting, paused, failed and cancelled ones; others do not change.
  public func start(_ downloads: [Download]) {
    engine.submit(.startRequested(downloads: downloads.map(\.record.id)))
  }

  /// Starts downloads of `transaction`; `body` is called on the delivery queue, between what was
  /// reported of them before and what their start leads to.
  func start(
    _ downloads: [Download], of transaction: PaymentTransaction,
    whenBegun body: @escaping @Sendable () -> Void
  ) {
    engine.submit(.startRequested(downloads: downloads.map(\.record.id))) { [delivery] in
      delivery.deliver(about: [transaction.report.id], body)
    }
  }

  /// Pauses waiting and active downloads, which keep their bytes; others do not change.
  public func pause(_ downloads: [Download]) {
    engine.submit(.pauseRequested(downloads: downloads.map(\.record.id)))
  }

  /// Goes on with paused and failed downloads; others do not change.
  public func resume(_ downloads: [Download]) {
    engine.submit(.resumeRequested(downloads: downloads.map(\.record.id)))
  }

  /// Cancels downloads that are not finished; their bytes are dropped, others do not change.
  public func cancel(_ downloads: [Download]) {
    engine.submit(.cancelRequested(downloads: downloads.map(\.record.id)))
  }

  /// Sets how many downloads are worked on at once, 1 to 32; those that are under way go on.
  public func setMaximumActiveDownloads(_ limit: Int) {
    engine.submit(.activeLimitChanged(limit))
  }

  /// Sets which of several downloads get their turn, their connections and their bytes first.
  ///
  /// −1000 to 1000, 0 for a new one, and until the queue is closed; also while they are under way.
  public func setPriority(_ priority: Int, of downloads: [Download]) {
    engine.submit(.priorityChanged(downloads: downloads.map(\.record.id), priority))
  }

  /// How much is transferred at once, and how fast.
  ///
  /// A change takes effect at once, also for transfers in progress. Of a store in a folder, only
  /// the bytes per second are limited.
  public var transferLimits: TransferLimits {
    get { store.limits }
    set { store.limits = newValue }
  }

  // MARK: Products and updates

  /// Looks up products by identifier; texts that are no identifiers come back as invalid.
  public func products(_ identifiers: Set<String>) async throws -> ProductsResponse {
    try await ProductsResponse(to: identifiers, from: service.products)
  }

  /// A request for products that tells a delegate.
  public func productsRequest(_ identifiers: Set<String>) -> ProductsRequest {
    ProductsRequest(productIdentifiers: identifiers, service: service)
  }

  /// Compares what the store offers with what is installed.
  ///
  /// Throws when the catalog is not to be had; products that cannot be described are left out.
  public func updates() async throws -> [ContentUpdate] {
    try await compareWithCatalog().updates
  }

  /// Compares what is installed with what the store offers now.
  ///
  /// A product that cannot be read costs its own update only; observers hear of it as an error.
  func compareWithCatalog() async throws -> UpdateComparison {
    let response = try await service.lookUpContents(of: nil)
    response.failures.forEach(engine.delivery.report(error:))
    return UpdateComparison(
      of: response.products, installed: try library.journal.installed(),
      current: try library.currentVersions())
  }

  /// Adds a restored transaction that carries the download of `update`; start and finish it.
  ///
  /// Unless `switching`, the version is installed beside the current one, for `use(_:of:)` later.
  /// Returns the transaction's identifier. Throws `notEntitled` when the account was never granted
  /// the product, `productUnknown` when the store offers it no longer, or in another version.
  @discardableResult
  public func add(
    _ update: ContentUpdate, applicationUsername: String? = nil, switching: Bool = true
  ) async throws -> TransactionID {
    let id = newIdentifier()
    try await add(update, as: id, applicationUsername: applicationUsername, switching: switching)
    return TransactionID(rawValue: id)
  }

  func add(
    _ update: ContentUpdate, as id: String, applicationUsername: String? = nil, switching: Bool
  ) async throws {
    let product = update.productIdentifier
    guard let original = try await service.latest(of: product, account: applicationUsername) else {
      throw ContentError(
        .notEntitled, "The account was never granted \(product)", remedy: "Buy it first",
        subject: product.rawValue)
    }
    let offers = try await service.lookUpContents(of: [product]).products.first?.contents ?? []
    var contents = offers.filter(update.isOf)
    if let signed = self.contents { contents = await signed.offers(for: contents, of: product) }
    contents = contents.filter(update.isOf)
    guard !contents.isEmpty else { throw ContentError.notOffered(update) }
    if let problem = contents.compactMap(\.problem).first { throw problem }
    engine.submit(
      .restored(
        transaction: id, original: original, contents: contents,
        purpose: .update(switching: switching)))
  }

  /// Whether the account was granted `product` before; nil is the library's own account.
  public func isGranted(_ product: ProductIdentifier, account: String? = nil) async throws -> Bool {
    try await service.latest(of: product, account: account) != nil
  }
}

extension ContentError {
  fileprivate static func notOffered(_ update: ContentUpdate) -> ContentError {
    ContentError(
      .productUnknown,
      "The store does not offer \(update.contentIdentifier) \(update.offered) any more",
      remedy: "Look for updates again", subject: update.productIdentifier.rawValue)
  }

  static func notOffered(_ product: String) -> ContentError {
    ContentError(
      .productUnknown, "The store does not offer \(product)",
      remedy: "Check the identifier; hostedcontent products lists what there is", subject: product)
  }
}
