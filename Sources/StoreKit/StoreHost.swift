import AppUpdate
import Foundation
import HostedContent
import Locks

/// What stands behind a queue: its configuration, the engine once it is needed, and the observers.
///
/// May be used from any thread.
final class StoreHost: Sendable {
  /// The host of `SKPaymentQueue.default()`.
  static let shared = StoreHost()

  private let state = Mutex(State())

  private struct State {
    var configuration: SKHostConfiguration?
    var session: Session?
    var observers: [ObserverAdapter] = []
    var delegate: DelegateAdapter?
    /// Payments that the engine could not take, until they are finished.
    var refused: [SKPaymentTransaction] = []
  }

  /// The engine, and the objects of its transactions.
  struct Session: Sendable {
    let engine: PaymentQueue
    let objects = ObjectRegistry()
  }

  // MARK: Configuration

  /// Opens the library; throws `usage` when that has happened already, and what opening throws.
  func configure(_ configuration: SKHostConfiguration) throws {
    try state.withLock { state in
      guard state.session == nil else {
        throw ContentError(
          .usage, "StoreKit uses a library already",
          remedy: "Configure it once, before anything else, or close() the queue first")
      }
      state.configuration = configuration
      _ = try Self.open(&state)
    }
  }

  /// Stops all downloads, keeping what was fetched, and forgets configuration and observers.
  func close() {
    // Everything is released outside the lock.
    let old = state.withLock { state in
      defer { state = State() }
      return state
    }
    old.session?.engine.close()
  }

  /// The engine; opened as the environment says when nobody has configured it.
  func session() throws -> Session { try state.withLock { try Self.open(&$0) } }

  private static func open(_ state: inout State) throws -> Session {
    if let session = state.session { return session }
    let configuration = try state.configuration ?? SKHostConfiguration()
    var queue = configuration.queue
    queue.deliveryQueue = queue.deliveryQueue ?? .main
    let session = Session(engine: try PaymentQueue(queue))
    state.configuration = configuration
    state.session = session
    session.engine.delegate = state.delegate
    for observer in state.observers { session.engine.add(observer) }
    return session
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
    guard let configuration else { return }
    configuration.onRefusal(error)
  }

  /// Calls `body` where observers are called.
  func deliver(_ body: @escaping @Sendable () -> Void) {
    (state.withLock { $0.configuration?.queue.deliveryQueue } ?? .main).async(execute: body)
  }

  // MARK: Observers

  /// Adds an observer of `queue`, held weakly.
  func add(_ observer: any SKPaymentTransactionObserver, of queue: SKPaymentQueue) {
    let adapter = ObserverAdapter(observer, of: queue, self)
    removeReleased()
    let isNew = state.withLock { state in
      guard !state.observers.contains(where: { $0.isAdapter(of: observer) }) else { return false }
      state.observers.append(adapter)
      return true
    }
    guard isNew else { return }
    do {
      try session().engine.add(adapter)
    } catch {
      refuse(error, while: "opening the library")
    }
    let refused = state.withLock { $0.refused }
    if !refused.isEmpty { deliver { adapter.tell(refused: refused) } }
  }

  func remove(_ observer: any SKPaymentTransactionObserver) {
    let (adapters, session) = state.withLock { state in
      let adapters = state.observers.filter { $0.isAdapter(of: observer) }
      state.observers.removeAll { $0.isAdapter(of: observer) }
      return (adapters, state.session)
    }
    for adapter in adapters { session?.engine.remove(adapter) }
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
    let session = state.withLock { state in
      state.delegate = adapter
      return state.session
    }
    session?.engine.delegate = adapter
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
    do {
      guard let content = try? ProductIdentifier(product) else { return nil }
      let engine = try session().engine
      guard let version = try engine.installedVersion(of: content) else { return nil }
      return try engine.lease(content, version).url
    } catch {
      refuse(error, while: "looking for content")
      return nil
    }
  }

  func deleteContent(of product: String) {
    do {
      let engine = try session().engine
      guard let library = configuration?.queue.library else { return }
      for entry in try LibraryReader(library).contents()
      where entry.content.contentIdentifier.rawValue == product {
        do {
          try engine.remove(entry.content.contentIdentifier, entry.content.version)
        } catch {
          refuse(error, while: "removing content")
        }
      }
    } catch {
      refuse(error, while: "removing content")
    }
  }
}
