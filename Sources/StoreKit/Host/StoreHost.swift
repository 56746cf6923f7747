import AppUpdate
import HostedConcurrency
import HostedContent

/// The state of a StoreKit queue: its configuration, engine and observers.
///
/// The engine is created when it is needed. May be used from any thread. Opening the library calls
/// user code (`StoreService.events()`), so it happens outside the lock of the state.
final class StoreHost: Sendable {
  /// The host of `SKPaymentQueue.default()`.
  static let shared = StoreHost()

  private let state = Mutex(State())
  /// Held by the thread that opens the library; other threads that open or close it wait.
  private let openings = OperationLock()
  /// Logs a line if no configuration, and so no handler, is set.
  private let log: @Sendable (ContentError) -> Void
  private let hasLogged = Atomic(false)
  /// Whether environment variables configure it if nothing else does.
  private let usesEnvironment: Bool

  init(
    usesEnvironment: Bool = true,
    log: @escaping @Sendable (ContentError) -> Void = SKHostConfiguration.logToStandardError
  ) {
    self.usesEnvironment = usesEnvironment
    self.log = log
  }

  private struct State {
    var configuration: SKHostConfiguration?
    /// The last delivery queue; requests that outlive the library end on it.
    var lastDeliveryQueue: DispatchQueue?
    /// The thread that is opening the library, and whether it has called `close()` meanwhile.
    var opening: (thread: pthread_t, isCancelled: Bool)?
    var session: Session?
    /// The thread that closes the last engine; other threads that close the queue wait for it.
    ///
    /// Kept after the close: within an observer's call, it has not waited for this call.
    var closing: (thread: pthread_t, engine: WeakReference<PaymentQueue>)?
    var observers: [ObserverAdapter] = []
    var delegate: DelegateAdapter?
    /// Payments that the engine refused, until they are finished.
    var refused: [SKPaymentTransaction] = []

    var deliveryQueue: DispatchQueue? {
      configuration.map(\.queue.deliveryQueue) ?? lastDeliveryQueue
    }

    var isOpenedByThisThread: Bool { opening.map { Self.isThis($0.thread) } ?? false }
    var isClosedByThisThread: Bool { closing.map { Self.isThis($0.thread) } ?? false }

    private static func isThis(_ thread: pthread_t) -> Bool {
      pthread_equal(thread, pthread_self()) != 0
    }
  }

  struct Session: Sendable {
    let engine: PaymentQueue
    let objects = ObjectRegistry()
  }

  // MARK: Opening and closing

  /// Opens the library; throws `usage` if it is open, and errors of opening.
  func configure(_ configuration: SKHostConfiguration) throws {
    try alone {
      guard openSession == nil else { throw ContentError.isOpenAlready }
      _ = try open(configuration)
    }
  }

  /// Returns the engine; opens it with environment variables if it is not configured.
  ///
  /// Throws `usage` on the thread that is opening the library, and errors of opening.
  func session() throws -> Session {
    if let openSession { return openSession }
    return try alone { try openSession ?? open() }
  }

  private var openSession: Session? { state.withLock { $0.session } }

  /// Calls `body` while no other thread opens the library.
  private func alone<Value>(_ body: () throws -> Value) throws -> Value {
    guard !state.withLock({ $0.isOpenedByThisThread }) else { throw ContentError.isBeingOpened }
    return try openings.withLock(body)
  }

  private func open(_ new: SKHostConfiguration? = nil) throws -> Session {
    let configured = state.withLock { state in
      state.opening = (thread: pthread_self(), isCancelled: false)
      state.configuration = new ?? state.configuration
      return state.configuration
    }
    // Until the end, because closing a cancelled engine calls the service on this thread.
    defer { state.withLock { $0.opening = nil } }
    let result = Result {
      let configuration = try configured ?? environmentConfiguration()
      var queue = configuration.queue
      queue.deliveryQueue = queue.deliveryQueue ?? .main
      queue.omitsStoppedDownloads = true
      return (configuration, Session(engine: try PaymentQueue(queue)))
    }
    // Nil if `close()` was called meanwhile.
    let observers: [ObserverAdapter]? = state.withLock { state in
      guard state.opening?.isCancelled == false else { return nil }
      guard case .success((let configuration, let session)) = result else { return [] }
      state.configuration = configuration
      state.session = session
      session.engine.delegate = state.delegate
      return state.observers
    }
    let session = try result.get().1
    guard let observers else {
      session.engine.close()
      throw ContentError.wasClosed
    }
    for observer in observers { session.engine.add(observer) }
    return session
  }

  /// Stops all downloads, keeps fetched data, and resets configuration and observers.
  ///
  /// Waits while another thread opens or closes the library. If called by the thread that opens it,
  /// the opening fails with `stopped`.
  func close() {
    let isOpening = state.withLock { $0.isOpenedByThisThread }
    let old = isOpening ? reset() : openings.withLock { reset() }
    if let session = old.session {
      session.engine.close()
    } else if !old.isClosedByThisThread {
      old.closing?.engine.object?.close()
    }
  }

  /// Resets the state, and returns the old one, which must be released outside the lock.
  private func reset() -> State {
    state.withLock { state in
      let opening = state.opening.map { (thread: $0.thread, isCancelled: true) }
      let closing = state.session.map {
        (thread: pthread_self(), engine: WeakReference($0.engine))
      }
      defer {
        state = State(
          lastDeliveryQueue: state.deliveryQueue, opening: opening,
          closing: closing ?? state.closing)
      }
      return state
    }
  }

  /// Returns the transaction objects of `engine`; nil unless it is the current engine.
  func objects(of engine: PaymentQueue) -> ObjectRegistry? {
    openSession.flatMap { $0.engine === engine ? $0.objects : nil }
  }

  /// The configuration, or else that of environment variables; nil without both.
  private var configuration: SKHostConfiguration? {
    state.withLock { $0.configuration } ?? (try? environmentConfiguration())
  }

  private func environmentConfiguration() throws -> SKHostConfiguration {
    guard usesEnvironment else { throw ContentError.isClosed }
    return try SKHostConfiguration()
  }

  var language: String { configuration?.language ?? "en" }

  var lookup: AppLookup.Configuration { configuration?.lookup ?? AppLookup.Configuration() }

  /// Reports an error for which Apple's StoreKit raises an exception or does nothing.
  func refuse(_ error: any Error, while action: String) {
    let error = ContentError(error, while: action)
    if let configuration {
      configuration.onRefusal(error)
    } else if !hasLogged.exchange(true, ordering: .relaxed) {
      log(error)
    }
  }

  /// Calls `body` with the open library; if opening fails, reports the error and returns nil.
  @discardableResult
  func useSession<Result>(_ body: (Session) throws -> Result) -> Result? {
    do {
      return try body(session())
    } catch {
      refuse(error, while: "using the library")
      return nil
    }
  }

  /// Whether the library can be opened and accepts payments.
  var canMakePayments: Bool { useSession { $0.engine.canMakePayments } ?? false }

  /// The app's queue; nil for the host of another queue.
  fileprivate var appsQueue: SKPaymentQueue? { self === Self.shared ? .default() : nil }

  /// Calls `body` on the delivery queue.
  func deliver(_ body: @escaping @Sendable () -> Void) {
    (state.withLock { $0.deliveryQueue } ?? .main).async(execute: body)
  }

  // MARK: Observers

  /// Adds an observer of `queue`, held weakly.
  func add(_ observer: any SKPaymentTransactionObserver, of queue: SKPaymentQueue) {
    let adapter = ObserverAdapter(observer, of: queue, self)
    let released = state.withLock { $0.observers }.filter { $0.observer == nil }
    let (isNew, isOpening) = state.withLock { state in
      // A released observer may have had the address of the new one.
      state.observers.removeAll { adapter in released.contains { $0 === adapter } }
      guard !state.observers.contains(where: { $0.isAdapter(of: observer) }) else {
        return (false, false)
      }
      state.observers.append(adapter)
      return (true, state.isOpenedByThisThread)
    }
    // While the library is opening, adding it to the list is enough.
    guard isNew, !isOpening else { return }
    useSession { $0.engine.add(adapter) }
    let refused = state.withLock { $0.refused }
    if !refused.isEmpty {
      notify([adapter]) { $1.paymentQueue($0, updatedTransactions: refused) }
    }
  }

  func remove(_ observer: any SKPaymentTransactionObserver) {
    let (adapter, session): (ObserverAdapter?, Session?) = state.withLock { state in
      guard let index = state.observers.firstIndex(where: { $0.isAdapter(of: observer) }) else {
        return (nil, nil)
      }
      return (state.observers.remove(at: index), state.session)
    }
    if let adapter { session?.engine.remove(adapter) }
  }

  /// Whether the observer of `adapter` was not removed.
  fileprivate func contains(_ adapter: ObserverAdapter) -> Bool {
    state.withLock { state in state.observers.contains { $0 === adapter } }
  }

  /// Calls `body` with the observers of `adapters`, on the delivery queue.
  private func notify(
    _ adapters: [ObserverAdapter],
    _ body: @escaping @Sendable (SKPaymentQueue, any SKPaymentTransactionObserver) -> Void
  ) {
    deliver { for adapter in adapters { adapter.notify(body) } }
  }

  /// Calls `body` with the observers of that time, on the delivery queue.
  func notify(
    _ body: @escaping @Sendable (SKPaymentQueue, any SKPaymentTransactionObserver) -> Void
  ) {
    deliver { [self] in for adapter in state.withLock({ $0.observers }) { adapter.notify(body) } }
  }

  var observers: [any SKPaymentTransactionObserver] {
    state.withLock { $0.observers }.compactMap(\.observer)
  }

  var delegate: (any SKPaymentQueueDelegate)? { state.withLock { $0.delegate }?.delegate }

  func setDelegate(_ delegate: (any SKPaymentQueueDelegate)?, of queue: SKPaymentQueue) {
    let adapter = delegate.map { DelegateAdapter($0, of: queue, self) }
    // The old adapter is released outside the lock.
    _ = state.withLock { state in
      defer { state.delegate = adapter }
      // Set both inside the lock, so that concurrent calls cannot make them differ.
      state.session?.engine.delegate = adapter
      return state.delegate
    }
  }

  // MARK: Transactions

  /// The unfinished transactions; without the engine's before the library is open.
  var transactions: [SKPaymentTransaction] {
    let (session, refused) = state.withLock { ($0.session, $0.refused) }
    guard let session else { return refused }
    return session.engine.transactions.map(session.objects.transaction) + refused
  }

  /// Adds a payment; if that fails, creates a failed transaction.
  func add(_ payment: SKPayment) {
    do {
      let enginePayment = try payment.enginePayment()
      try session().engine.add(enginePayment)
    } catch {
      let reason = (error as? SKError) ?? ContentError(error, while: "adding a payment").skError
      let transaction = SKPaymentTransaction(refused: payment, reason)
      let adapters = state.withLock { state in
        state.refused.append(transaction)
        return state.observers
      }
      notify(adapters) { $1.paymentQueue($0, updatedTransactions: [transaction]) }
    }
  }

  func finish(_ transaction: SKPaymentTransaction) {
    if let handle = transaction.handle {
      openSession?.engine.finishTransaction(handle)
      return
    }
    let adapters: [ObserverAdapter]? = state.withLock { state in
      guard let place = state.refused.firstIndex(where: { $0 === transaction }) else { return nil }
      state.refused.remove(at: place)
      return state.observers
    }
    guard let adapters else { return }
    notify(adapters) { $1.paymentQueue($0, removedTransactions: [transaction]) }
  }

  // MARK: Installed content

  func contentURL(of product: String) -> URL? {
    guard let content = try? ProductIdentifier(validating: product) else { return nil }
    return useSession { session in
      guard let version = try session.engine.installedVersion(of: content) else { return nil }
      return try session.engine.lease(content, version: version).url
    } ?? nil
  }

  func deleteContent(of product: String) {
    guard let product = try? ProductIdentifier(validating: product) else { return }
    useSession { session in
      guard let library = configuration?.queue.library else { return }
      for content in try LibraryReader(library).contents().map(\.content)
      where content.productIdentifier == product {
        do {
          try session.engine.remove(content.contentIdentifier, version: content.version)
        } catch {
          refuse(error, while: "removing content")
        }
      }
    }
  }
}

/// Passes the engine's reports to a StoreKit observer.
// Sendable because its weak references never change, and their objects are called on the delivery
// queue only.
private final class ObserverAdapter: PaymentTransactionObserver, @unchecked Sendable {
  private let reference: WeakReference<any SKPaymentTransactionObserver>
  private weak var addingQueue: SKPaymentQueue?
  // The host retains the adapters.
  private weak var host: StoreHost?

  init(_ observer: any SKPaymentTransactionObserver, of queue: SKPaymentQueue, _ host: StoreHost) {
    reference = WeakReference(observer)
    addingQueue = queue
    self.host = host
  }

  /// The queue to which the observer was added; the app's queue if it is deallocated.
  private var queue: SKPaymentQueue? { addingQueue ?? host?.appsQueue }

  /// The observer; nil once it is deallocated.
  var observer: (any SKPaymentTransactionObserver)? { reference.object }

  /// Returns whether this is the adapter of `observer`; may be called inside a lock.
  func isAdapter(of observer: any SKPaymentTransactionObserver) -> Bool {
    reference.refers(to: observer)
  }

  /// The observer; nil if it was removed or is deallocated.
  private var listener: (any SKPaymentTransactionObserver)? {
    host?.contains(self) == true ? observer : nil
  }

  /// Calls `body` unless the queue or the observer is deallocated or removed.
  func notify(_ body: (SKPaymentQueue, any SKPaymentTransactionObserver) -> Void) {
    guard let queue, let listener else { return }
    body(queue, listener)
  }

  /// Also passes the objects of the engine's handles; does nothing for an earlier engine.
  private func notify(
    _ engine: PaymentQueue,
    _ body: (SKPaymentQueue, any SKPaymentTransactionObserver, ObjectRegistry) -> Void
  ) {
    guard let objects = host?.objects(of: engine) else { return }
    notify { body($0, $1, objects) }
  }

  func paymentQueue(_ engine: PaymentQueue, updatedTransactions transactions: [PaymentTransaction])
  {
    notify(engine) { $1.paymentQueue($0, updatedTransactions: transactions.map($2.transaction)) }
  }

  func paymentQueue(_ engine: PaymentQueue, removedTransactions transactions: [PaymentTransaction])
  {
    notify(engine) { $1.paymentQueue($0, removedTransactions: transactions.map($2.transaction)) }
  }

  func paymentQueue(_ engine: PaymentQueue, updatedDownloads downloads: [Download]) {
    // Call once per transaction, with all its downloads. Observers written for one download per
    // product decide by a single call whether all contents are installed.
    var reported: Set<PaymentTransaction> = []
    for download in downloads where reported.insert(download.transaction).inserted {
      notify(engine) {
        $1.paymentQueue($0, updatedDownloads: download.transaction.downloads.map($2.download))
      }
    }
  }

  func paymentQueue(_ _: PaymentQueue, didFailWith error: ContentError) {
    // Every observer receives the error, but the host reports it once.
    if let host, let listener, listener === host.observers.first {
      host.refuse(error, while: "using the queue")
    }
  }

  func paymentQueueRestoreCompletedTransactionsFinished(_ engine: PaymentQueue) {
    notify(engine) { queue, observer, _ in
      observer.paymentQueueRestoreCompletedTransactionsFinished(queue)
    }
  }

  func paymentQueue(
    _ engine: PaymentQueue, restoreCompletedTransactionsFailedWithError error: ContentError
  ) {
    notify(engine) { queue, observer, _ in
      observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error.storeKitError)
    }
  }

  func paymentQueue(
    _ engine: PaymentQueue, shouldAddStorePayment payment: Payment, for product: Product
  ) -> Bool {
    guard let queue, let listener, let host else { return false }
    return listener.paymentQueue(
      queue, shouldAddStorePayment: SKPayment(payment),
      for: SKProduct(product, host.language, engine.storefront))
  }

  func paymentQueueDidChangeStorefront(_ engine: PaymentQueue) {
    notify(engine) { queue, observer, _ in observer.paymentQueueDidChangeStorefront(queue) }
  }

  func paymentQueue(_ engine: PaymentQueue, didRevoke revocation: Revocation) {
    notify(engine) { queue, observer, _ in
      observer.paymentQueue(
        queue,
        didRevokeEntitlementsForProductIdentifiers: revocation.productIdentifiers.map(\.rawValue))
    }
  }
}

/// Calls a StoreKit delegate to decide whether a transaction continues.
// Sendable because its weak references never change, and their objects are called on the delivery
// queue only.
private final class DelegateAdapter: PaymentQueueDelegate, @unchecked Sendable {
  private(set) weak var delegate: (any SKPaymentQueueDelegate)?
  private weak var queue: SKPaymentQueue?
  // The host retains the adapter.
  private weak var host: StoreHost?
  private let clock = ContinuousClock()

  /// A response that takes longer counts as false.
  private static let answerTimeout = Duration.seconds(1)

  init(_ delegate: any SKPaymentQueueDelegate, of queue: SKPaymentQueue, _ host: StoreHost) {
    self.delegate = delegate
    self.queue = queue
    self.host = host
  }

  func paymentQueue(
    _ engine: PaymentQueue, shouldContinue transaction: PaymentTransaction,
    in storefront: Storefront
  ) -> Bool {
    guard let delegate, let queue = queue ?? host?.appsQueue,
      let objects = host?.objects(of: engine)
    else { return true }
    let start = clock.now
    let isWanted = delegate.paymentQueue(
      queue, shouldContinue: objects.transaction(transaction),
      in: SKStorefront(storefront))
    return isWanted && clock.now - start <= Self.answerTimeout
  }
}
