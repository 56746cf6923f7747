import AppUpdate
import Foundation
import HostedContent
import Concurrency

/// The state of a StoreKit queue: its configuration, engine and observers.
///
/// The engine is created when it is needed. May be used from any thread. Opening the library calls
/// user code (`StoreService.events()`), so it happens outside the lock.
final class StoreHost: Sendable {
  /// The host of `SKPaymentQueue.default()`.
  static let shared = StoreHost()

  private let state = Mutex(State())
  /// Logs a line if no configuration, and so no handler, is set.
  private let log: @Sendable (ContentError) -> Void
  private let hasLogged = Atomic(false)

  init(log: @escaping @Sendable (ContentError) -> Void = SKHostConfiguration.logToStandardError) {
    self.log = log
  }

  private struct State {
    var configuration: SKHostConfiguration?
    /// The last delivery queue; requests that outlive the library end on it.
    var lastDeliveryQueue: DispatchQueue?
    var library = Library.closed
    var observers: [ObserverAdapter] = []
    var delegate: DelegateAdapter?
    /// Payments that the engine refused, until they are finished.
    var refused: [SKPaymentTransaction] = []

    var deliveryQueue: DispatchQueue? {
      configuration.map(\.queue.deliveryQueue) ?? lastDeliveryQueue
    }

    var session: Session? { if case .open(let session) = library { session } else { nil } }

    var isOpenedByThisThread: Bool {
      if case .opening(let opening) = library { opening.isOnThisThread } else { false }
    }
  }

  private enum Library {
    /// Next: opening.
    case closed
    /// One thread opens it, others wait. Next: open, or closed if it fails or is cancelled.
    case opening(LibraryOpening)
    /// Next: closed.
    case open(Session)
  }

  /// The engine and the objects of its transactions.
  struct Session: Sendable {
    let engine: PaymentQueue
    let objects = ObjectRegistry()
  }

  // MARK: Opening and closing

  /// Opens the library; throws `usage` if it is open, and errors of opening.
  func configure(_ configuration: SKHostConfiguration) throws {
    _ = try session(opening: configuration)
  }

  /// Returns the engine; opens it with environment variables if it is not configured.
  ///
  /// Throws `usage` on the thread that is opening the library, and errors of opening.
  func session() throws -> Session { try session(opening: nil) }

  private enum Step {
    case use(Session)
    case wait(LibraryOpening)
    case open(LibraryOpening, SKHostConfiguration?)
  }

  /// Returns the engine; with a new `configuration`, the library must be closed.
  private func session(opening configuration: SKHostConfiguration?) throws -> Session {
    while true {
      switch nextStep(opening: configuration) {
      case .use(let session):
        guard configuration == nil else { throw ContentError.isOpenAlready }
        return session
      case .wait(let opening):
        guard !opening.isOnThisThread else { throw ContentError.isBeingOpened }
        opening.wait()
      case .open(let opening, let configuration):
        defer { opening.end() }
        return try open(opening, configuration)
      }
    }
  }

  private func nextStep(opening configuration: SKHostConfiguration?) -> Step {
    state.withLock { state in
      switch state.library {
      case .open(let session): return .use(session)
      case .opening(let opening): return .wait(opening)
      case .closed:
        let opening = LibraryOpening()
        state.library = .opening(opening)
        state.configuration = configuration ?? state.configuration
        return .open(opening, state.configuration)
      }
    }
  }

  private func open(_ opening: LibraryOpening, _ configuration: SKHostConfiguration?) throws
    -> Session
  {
    let result = Result {
      let configuration = try configuration ?? SKHostConfiguration()
      var queue = configuration.queue
      queue.deliveryQueue = queue.deliveryQueue ?? .main
      return (configuration, Session(engine: try PaymentQueue(queue)))
    }
    // Nil if `close()` was called meanwhile.
    let observers: [ObserverAdapter]? = state.withLock { state in
      guard case .opening(let current) = state.library, current === opening else { return nil }
      state.library = .closed
      guard case .success((let configuration, let session)) = result else { return [] }
      state.configuration = configuration
      state.library = .open(session)
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
  /// Waits while another thread opens the library. If called by the thread that opens it, the
  /// opening fails with `stopped`.
  func close() {
    while true {
      let (old, opening): (State?, LibraryOpening?) = state.withLock { state in
        if case .opening(let opening) = state.library, !opening.isOnThisThread {
          return (nil, opening)
        }
        // The old state is released outside the lock.
        defer { state = State(lastDeliveryQueue: state.deliveryQueue) }
        return (state, nil)
      }
      opening?.wait()
      guard let old else { continue }
      for adapter in old.observers { adapter.remove() }
      old.session?.engine.close()
      return
    }
  }

  /// Returns the transaction objects of `engine`; nil unless it is the current engine.
  func objects(of engine: PaymentQueue) -> ObjectRegistry? {
    guard let session = state.withLock({ $0.session }), session.engine === engine else {
      return nil
    }
    return session.objects
  }

  /// The configuration, or else that of environment variables; nil without both.
  private var configuration: SKHostConfiguration? {
    state.withLock { $0.configuration } ?? (try? SKHostConfiguration())
  }

  /// The language of product texts.
  var language: String { configuration?.language ?? "en" }

  /// The configuration of item look-ups.
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
  var appsQueue: SKPaymentQueue? { self === Self.shared ? .default() : nil }

  /// Calls `body` on the delivery queue.
  func deliver(_ body: @escaping @Sendable () -> Void) {
    (state.withLock { $0.deliveryQueue } ?? .main).async(execute: body)
  }

  // MARK: Observers

  /// Adds an observer of `queue`, held weakly.
  func add(_ observer: any SKPaymentTransactionObserver, of queue: SKPaymentQueue) {
    let adapter = ObserverAdapter(observer, of: queue, self)
    removeReleased()
    let (isNew, isOpening) = state.withLock { state in
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
    if !refused.isEmpty { deliver { adapter.notify(refused: refused) } }
  }

  func remove(_ observer: any SKPaymentTransactionObserver) {
    let (adapters, session) = state.withLock { state in
      let adapters = state.observers.filter { $0.isAdapter(of: observer) }
      state.observers.removeAll { $0.isAdapter(of: observer) }
      return (adapters, state.session)
    }
    for adapter in adapters {
      adapter.remove()
      session?.engine.remove(adapter)
    }
  }

  /// Removes adapters of deallocated observers, even if the address is reused.
  private func removeReleased() {
    let released = state.withLock { $0.observers }.filter { $0.observer == nil }
    guard !released.isEmpty else { return }
    state.withLock { state in
      state.observers.removeAll { adapter in released.contains { $0 === adapter } }
    }
  }

  var observers: [any SKPaymentTransactionObserver] {
    state.withLock { $0.observers }.compactMap(\.observer)
  }

  var delegate: (any SKPaymentQueueDelegate)? { state.withLock { $0.delegate }?.delegate }

  func setDelegate(_ delegate: (any SKPaymentQueueDelegate)?, of queue: SKPaymentQueue) {
    let adapter = delegate.map { DelegateAdapter($0, of: queue, self) }
    let old = state.withLock { state in
      defer { state.delegate = adapter }
      // Set both inside the lock, so that concurrent calls cannot make them differ.
      state.session?.engine.delegate = adapter
      return state.delegate
    }
    withExtendedLifetime(old) {}
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
      let reason =
        (error as? SKError) ?? ContentError(error, while: "adding a payment").skError
      let transaction = SKPaymentTransaction(refused: payment, reason)
      let adapters = state.withLock { state in
        state.refused.append(transaction)
        return state.observers
      }
      deliver { for adapter in adapters { adapter.notify(refused: [transaction]) } }
    }
  }

  func finish(_ transaction: SKPaymentTransaction) {
    if let handle = transaction.handle {
      state.withLock { $0.session }?.engine.finishTransaction(handle)
      return
    }
    let adapters: [ObserverAdapter]? = state.withLock { state in
      guard let place = state.refused.firstIndex(where: { $0 === transaction }) else { return nil }
      state.refused.remove(at: place)
      return state.observers
    }
    guard let adapters else { return }
    deliver { for adapter in adapters { adapter.notify(removed: [transaction]) } }
  }

  // MARK: Installed content

  func contentURL(of product: String) -> URL? {
    guard let content = try? ProductIdentifier(validating: product) else { return nil }
    return useSession { session in
      guard let version = try session.engine.installedVersion(of: content) else { return nil }
      return try session.engine.lease(content, version).url
    } ?? nil
  }

  func deleteContent(of product: String) {
    useSession { session in
      guard let library = configuration?.queue.library else { return }
      for entry in try LibraryReader(library).contents()
      where entry.content.contentIdentifier.rawValue == product {
        do {
          try session.engine.remove(entry.content.contentIdentifier, entry.content.version)
        } catch {
          refuse(error, while: "removing content")
        }
      }
    }
  }
}

extension ContentError {
  fileprivate static let isOpenAlready = ContentError(
    .usage, "StoreKit is already configured with a library",
    remedy: "Configure it once, before other calls, or call close() on the queue first")

  fileprivate static let isBeingOpened = ContentError(
    .usage, "Cannot use the queue while this thread is opening its library",
    remedy: "In StoreService.events(), only add observers. Use the queue after it is open")

  fileprivate static let wasClosed = ContentError(
    .stopped, "The queue was closed while its library was being opened",
    remedy: "Configure it again")
}
