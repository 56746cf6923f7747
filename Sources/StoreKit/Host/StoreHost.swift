import AppUpdate
import Foundation
import HostedContent
import Concurrency

/// What a queue of StoreKit's kind works with: its configuration, the engine once it is needed, and
/// the observers.
///
/// May be used from any thread. Opening the library calls code of the user
/// (`StoreService.events()`), so it happens outside the lock.
final class StoreHost: Sendable {
  /// The host of `SKPaymentQueue.default()`.
  static let shared = StoreHost()

  private let state = Mutex(State())
  /// Where a line goes if there is no configuration, which would say where.
  private let log: @Sendable (ContentError) -> Void
  private let hasLogged = Atomic(false)

  init(log: @escaping @Sendable (ContentError) -> Void = SKHostConfiguration.logToStandardError) {
    self.log = log
  }

  private struct State {
    var configuration: SKHostConfiguration?
    /// The delivery queue before the library was closed: requests end on it.
    var lastDeliveryQueue: DispatchQueue?
    var library = Library.closed
    var observers: [ObserverAdapter] = []
    var delegate: DelegateAdapter?
    /// Payments that the engine could not take, until they are finished.
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
    /// A thread opens it; the others wait. Next: open, or closed if it fails or is given up.
    case opening(LibraryOpening)
    /// Next: closed.
    case open(Session)
  }

  /// The engine, and the objects of its transactions.
  struct Session: Sendable {
    let engine: PaymentQueue
    let objects = ObjectRegistry()
  }

  // MARK: Opening and closing

  /// Opens the library; throws `usage` if it is open already, and what opening throws.
  func configure(_ configuration: SKHostConfiguration) throws {
    _ = try session(opening: configuration)
  }

  /// The engine; opened as the environment says when nobody has configured it.
  ///
  /// Throws `usage` on the thread that is opening the library, and what opening throws.
  func session() throws -> Session { try session(opening: nil) }

  private enum Step {
    case use(Session)
    case wait(LibraryOpening)
    case open(LibraryOpening, SKHostConfiguration?)
  }

  /// The engine; with a new `configuration` the library must be closed.
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

  /// Stops all downloads, keeping what was fetched, and forgets configuration and observers.
  ///
  /// Waits while another thread opens the library. The thread that opens it gives the opening up,
  /// which then fails with `stopped`.
  func close() {
    while true {
      let (old, opening): (State?, LibraryOpening?) = state.withLock { state in
        if case .opening(let opening) = state.library, !opening.isOnThisThread {
          return (nil, opening)
        }
        // Everything is released outside the lock.
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

  /// The objects of the transactions of `engine`; nil unless it is the one in use.
  func objects(of engine: PaymentQueue) -> ObjectRegistry? {
    guard let session = state.withLock({ $0.session }), session.engine === engine else {
      return nil
    }
    return session.objects
  }

  /// The configuration, the environment's when nobody has set one; nil when neither has.
  private var configuration: SKHostConfiguration? {
    state.withLock { $0.configuration } ?? (try? SKHostConfiguration())
  }

  /// The language of products' words.
  var language: String { configuration?.language ?? "en" }

  /// Where items are looked up.
  var lookup: AppLookup.Configuration { configuration?.lookup ?? AppLookup.Configuration() }

  /// Reports what Apple's StoreKit answers with an exception or with silence.
  func refuse(_ error: any Error, while action: String) {
    let error = ContentError(error, while: action)
    if let configuration {
      configuration.onRefusal(error)
    } else if !hasLogged.exchange(true, ordering: .relaxed) {
      log(error)
    }
  }

  /// Calls `body` with the open library; reports why it cannot be opened, and returns nil then.
  @discardableResult
  func useSession<Result>(_ body: (Session) throws -> Result) -> Result? {
    do {
      return try body(session())
    } catch {
      refuse(error, while: "using the library")
      return nil
    }
  }

  /// Whether there is a library that takes payments.
  var canMakePayments: Bool { useSession { $0.engine.canMakePayments } ?? false }

  /// The object that stands for the app's queue; nil for another queue's host.
  var appsQueue: SKPaymentQueue? { self === Self.shared ? .default() : nil }

  /// Calls `body` where observers are called.
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
    // During an opening it is enough to be in the list.
    guard isNew, !isOpening else { return }
    useSession { $0.engine.add(adapter) }
    let refused = state.withLock { $0.refused }
    if !refused.isEmpty { deliver { adapter.tell(refused: refused) } }
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

  /// Removes adapters whose observer is deallocated, also one at an address that is in use again.
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
      // Within the lock, so that both have the same one whoever else sets it.
      state.session?.engine.delegate = adapter
      return state.delegate
    }
    withExtendedLifetime(old) {}
  }

  // MARK: Transactions

  /// Unfinished transactions; none before the library is open.
  var transactions: [SKPaymentTransaction] {
    let (session, refused) = state.withLock { ($0.session, $0.refused) }
    guard let session else { return refused }
    return session.engine.transactions.map(session.objects.transaction) + refused
  }

  /// Hands a payment over; one that cannot be becomes a failed transaction.
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
      deliver { for adapter in adapters { adapter.tell(refused: [transaction]) } }
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
    deliver { for adapter in adapters { adapter.tell(removed: [transaction]) } }
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
    .usage, "StoreKit uses a library already",
    remedy: "Configure it once, before anything else, or close() the queue first")

  fileprivate static let isBeingOpened = ContentError(
    .usage, "The queue cannot be used by the call that opens its library",
    remedy: "In StoreService.events(), only add observers; use the queue after it was opened")

  fileprivate static let wasClosed = ContentError(
    .stopped, "The queue was closed while its library was being opened",
    remedy: "Configure it again")
}
