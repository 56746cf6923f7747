import HostedContent

/// The queue of purchases and their downloads.
///
/// Configure the library and the store at launch, add an observer, and keep it: the queue does not
/// start without an observer, and reports everything unfinished at each launch. Methods may be
/// called from any thread and return at once; only the first one opens the library, unless
/// `configure` has. Observers are called on the main queue, unless the configuration sets another.
// Sendable because its host is.
open class SKPaymentQueue: NSObject, @unchecked Sendable {
  let host: StoreHost

  private static let shared = SKPaymentQueue()

  /// The app's queue.
  ///
  /// Call `SKPaymentQueue.default()`: subclasses do not have their own queue, so the same call on a
  /// subclass stops the program.
  open class func `default`() -> Self {
    guard let queue = shared as? Self else {
      preconditionFailure("\(self).default(): ask SKPaymentQueue.default() instead")
    }
    return queue
  }

  /// Returns whether a store is configured and its library can be opened.
  ///
  /// Without a configuration, the first call logs one line that explains how to configure it.
  open class func canMakePayments() -> Bool { StoreHost.shared.canMakePayments }

  /// Creates another object for the app's queue, for tests.
  public override init() { host = .shared }

  init(host: StoreHost) { self.host = host }

  /// Creates a queue with its own library, separate from the app's queue.
  ///
  /// Not in Apple's API. Blocks. Throws errors of opening the library. The queue works until
  /// `close()` is called or it is deallocated.
  public convenience init(configuration: SKHostConfiguration) throws {
    let host = StoreHost(usesEnvironment: false)
    try host.configure(configuration)
    self.init(host: host)
  }

  /// Configures the library and the store of the app's queue, and opens the library.
  ///
  /// Not in Apple's API. Blocks. Throws `usage` if the queue is already configured, `libraryLocked`
  /// while another queue uses the library, and other errors of opening; after an error, the next
  /// call that needs the library tries again. Other threads that need the library wait until it is
  /// open. Opening calls `StoreService.events()`, which may only add observers.
  public static func configure(_ configuration: SKHostConfiguration) throws {
    try StoreHost.shared.configure(configuration)
  }

  /// Stops all downloads, keeps fetched data, and resets configuration, observers and delegate.
  ///
  /// Not in Apple's API, where downloads continue in the system. Blocks until no download is
  /// running, and at most 5 seconds for running calls of observers and of the service. After that,
  /// observers are not called. May be called on the main thread and within an observer's call.
  public func close() { host.close() }

  // MARK: Observers

  /// The delegate that decides whether a transaction continues in another storefront; not retained.
  open weak var delegate: (any SKPaymentQueueDelegate)? {
    get { host.delegate }
    set { host.setDelegate(newValue, of: self) }
  }

  /// The account's storefront as last reported by the service; nil if not reported.
  open var storefront: SKStorefront? {
    host.useSession { $0.engine.storefront.map(SKStorefront.init) } ?? nil
  }

  /// Adds an observer, not retained; it receives the unfinished transactions.
  open func add(_ observer: any SKPaymentTransactionObserver) { host.add(observer, of: self) }

  /// Removes an observer; if called on the delivery queue, it is not called again.
  open func remove(_ observer: any SKPaymentTransactionObserver) { host.remove(observer) }

  /// The current observers.
  open var transactionObservers: [any SKPaymentTransactionObserver] { host.observers }

  // MARK: Transactions

  /// The unfinished transactions in order, as last reported; valid while there is an observer.
  open var transactions: [SKPaymentTransaction] { host.transactions }

  /// Adds a copy of a payment; each call creates a transaction.
  ///
  /// For a payment without product or quantity, Apple raises an exception. Here, the transaction
  /// fails with `SKError.paymentInvalid`.
  open func add(_ payment: SKPayment) { host.add(SKPayment(fields: payment.values)) }

  /// Restores the account's finished purchases as new `.restored` transactions.
  ///
  /// Each has its original and new downloads, which wait to be started. One of an earlier restore
  /// that is still unfinished is reported again instead. While a restore is running, another one is
  /// refused, and the configuration's `onRefusal` is called.
  open func restoreCompletedTransactions() {
    restoreCompletedTransactions(withApplicationUsername: nil)
  }

  /// Restores the finished purchases with this `applicationUsername`.
  open func restoreCompletedTransactions(withApplicationUsername username: String?) {
    do {
      try host.session().engine.restoreCompletedTransactions(
        withApplicationUsername: username.map(AccountID.init(rawValue:)))
    } catch {
      let reason = ContentError(error, while: "restoring purchases").storeKitError
      host.notify { $1.paymentQueue($0, restoreCompletedTransactionsFailedWithError: reason) }
    }
  }

  /// Removes a purchased, failed or restored transaction from the queue.
  ///
  /// As on Apple's systems, unfinished downloads are cancelled: finish the transaction when they
  /// have ended. A `.purchasing` or `.deferred` one stays, and the configuration's `onRefusal` is
  /// called.
  open func finishTransaction(_ transaction: SKPaymentTransaction) { host.finish(transaction) }

  // MARK: Downloads

  /// Starts waiting, paused, failed and cancelled downloads; others do not change.
  open func start(_ downloads: [SKDownload]) { with(downloads) { $0.start($1) } }

  /// Pauses waiting and active downloads and keeps their data; others do not change.
  open func pause(_ downloads: [SKDownload]) { with(downloads) { $0.pause($1) } }

  /// Resumes paused and failed downloads; others do not change.
  open func resume(_ downloads: [SKDownload]) { with(downloads) { $0.resume($1) } }

  /// Cancels unfinished downloads and drops their data; others do not change.
  open func cancel(_ downloads: [SKDownload]) { with(downloads) { $0.cancel($1) } }

  private func with(_ downloads: [SKDownload], _ body: (PaymentQueue, [Download]) -> Void) {
    let handles = downloads.compactMap(\.handle)
    if !handles.isEmpty { host.useSession { body($0.engine, handles) } }
  }

  // MARK: Screens that do not exist on Linux

  /// Does nothing, because subscriptions are not supported.
  open func showPriceConsentIfNeeded() {}

  /// Does nothing, because codes are not supported.
  open func presentCodeRedemptionSheet() {}
}

/// Decides whether transactions in progress continue; called on the delivery queue.
public protocol SKPaymentQueueDelegate: NSObjectProtocol {
  /// Returns whether a purchasing transaction continues in another storefront.
  ///
  /// If it returns false, or takes more than a second, the transaction fails with
  /// `SKError.storeProductNotAvailable`.
  func paymentQueue(
    _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
    in newStorefront: SKStorefront
  ) -> Bool

  /// Returns whether to show the consent for a subscription's new price; never called here.
  func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
}

extension SKPaymentQueueDelegate {
  /// Returns true.
  public func paymentQueue(
    _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
    in newStorefront: SKStorefront
  ) -> Bool { true }

  /// Returns true.
  public func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { true }
}
