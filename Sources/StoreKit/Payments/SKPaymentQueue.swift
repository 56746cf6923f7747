public import Foundation
import HostedContent

/// The queue of purchases and of the downloads that belong to them.
///
/// Configure the library and the store at launch, add an observer, and leave it there: nothing is
/// started without one, and everything unfinished comes again at each launch. Methods may be called
/// from any thread and return at once; observers are called on the main queue, unless the
/// configuration names another.
// Sendable because its host is.
open class SKPaymentQueue: NSObject, @unchecked Sendable {
  let host: StoreHost

  private static let shared = SKPaymentQueue()

  /// The app's queue.
  ///
  /// Subclasses have no queue of their own: ask `SKPaymentQueue` itself.
  open class func `default`() -> Self {
    guard let queue = shared as? Self else {
      preconditionFailure("\(self).default(): ask SKPaymentQueue.default() instead")
    }
    return queue
  }

  /// Whether payments can be added: whether a store is configured and its library can be opened.
  ///
  /// Without a configuration, the first such call logs one line that says how to configure it.
  open class func canMakePayments() -> Bool {
    StoreHost.shared.canMakePayments
  }

  /// Another object for the app's queue, as tests make it.
  public override init() { host = .shared }

  init(host: StoreHost) { self.host = host }

  /// A queue over a library of its own, beside the app's; opens it and throws what that throws.
  ///
  /// Not in Apple's API. It works until `close()`, or until nobody holds it.
  public convenience init(configuration: SKHostConfiguration) throws {
    let host = StoreHost()
    try host.configure(configuration)
    self.init(host: host)
  }

  /// Tells the app's queue its library and its store, and opens the library.
  ///
  /// Not in Apple's API. Throws `usage` when they are known already, `libraryLocked` while another
  /// process uses the library, and other errors of opening. Other threads that need the library
  /// wait until it is open; `StoreService.events()`, which opening calls, may add observers only.
  public static func configure(_ configuration: SKHostConfiguration) throws {
    try StoreHost.shared.configure(configuration)
  }

  /// Stops all downloads, keeping what was fetched, and forgets configuration and observers.
  ///
  /// Not in Apple's API, where the system goes on. Blocks until no download runs; no call of an
  /// observer begins after it has returned. It may be called on the main thread and within such a
  /// call.
  public func close() { host.close() }

  // MARK: Observers

  /// Who is asked whether a transaction goes on in another storefront; not retained.
  open weak var delegate: (any SKPaymentQueueDelegate)? {
    get { host.delegate }
    set { host.setDelegate(newValue, of: self) }
  }

  /// Where the account buys; nil when the seller did not say, or not yet.
  open var storefront: SKStorefront? {
    host.useSession { $0.engine.storefront.map(SKStorefront.init) } ?? nil
  }

  /// Adds an observer, not retained; it is told what is unfinished.
  open func add(_ observer: any SKPaymentTransactionObserver) { host.add(observer, of: self) }

  /// Removes an observer; after this was called on the delivery queue, it is not called any more.
  open func remove(_ observer: any SKPaymentTransactionObserver) { host.remove(observer) }

  /// The observers that are still there.
  open var transactionObservers: [any SKPaymentTransactionObserver] { host.observers }

  // MARK: Transactions

  /// Unfinished transactions in their order, as reported last; valid while there is an observer.
  open var transactions: [SKPaymentTransaction] { host.transactions }

  /// Adds a copy of a payment; each time makes another transaction.
  ///
  /// Where Apple raises an exception, for a payment without product or quantity, the transaction
  /// fails with `SKError.paymentInvalid`.
  open func add(_ payment: SKPayment) { host.add(SKPayment(fields: payment.values)) }

  /// Restores the account's finished purchases: each comes as a new `.restored` transaction with
  /// its original and fresh downloads, which wait to be started.
  open func restoreCompletedTransactions() {
    restoreCompletedTransactions(withApplicationUsername: nil)
  }

  /// Restores the finished purchases that were paid with this `applicationUsername`.
  open func restoreCompletedTransactions(withApplicationUsername username: String?) {
    do {
      try host.session().engine.restoreCompletedTransactions(withApplicationUsername: username)
    } catch {
      let reason = ContentError(error, while: "restoring purchases").storeKitError
      host.deliver { [self] in
        for observer in host.observers {
          observer.paymentQueue(self, restoreCompletedTransactionsFailedWithError: reason)
        }
      }
    }
  }

  /// Takes a purchased, failed or restored transaction out for good.
  ///
  /// Its unfinished downloads are cancelled, as Apple's are: finish it when they have ended. A
  /// `.purchasing` or `.deferred` one stays, and the configuration's `onRefusal` is told.
  open func finishTransaction(_ transaction: SKPaymentTransaction) { host.finish(transaction) }

  // MARK: Downloads

  /// Starts waiting, paused, failed and cancelled downloads; others do not change.
  open func start(_ downloads: [SKDownload]) { with(downloads) { $0.start($1) } }

  /// Pauses waiting and active downloads, which keep their bytes; others do not change.
  open func pause(_ downloads: [SKDownload]) { with(downloads) { $0.pause($1) } }

  /// Goes on with paused and failed downloads; others do not change.
  open func resume(_ downloads: [SKDownload]) { with(downloads) { $0.resume($1) } }

  /// Cancels downloads that are not finished, and drops their bytes; others do not change.
  open func cancel(_ downloads: [SKDownload]) { with(downloads) { $0.cancel($1) } }

  private func with(_ downloads: [SKDownload], _ body: (PaymentQueue, [Download]) -> Void) {
    let handles = downloads.compactMap(\.handle)
    if !handles.isEmpty { host.useSession { body($0.engine, handles) } }
  }

  // MARK: What there is no screen for

  /// Does nothing: the engine sells no subscriptions, so no change of price waits for consent.
  open func showPriceConsentIfNeeded() {}

  /// Does nothing: the engine knows no codes to redeem.
  open func presentCodeRedemptionSheet() {}
}
