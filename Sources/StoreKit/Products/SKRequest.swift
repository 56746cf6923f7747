import HostedContent
import HostedConcurrency

/// A request to the store.
///
/// A started request lives until it ends or is cancelled, even if the program does not retain it.
// Sendable because one call at a time uses the mutable state.
open class SKRequest: NSObject, @unchecked Sendable {
  let host: StoreHost
  private let state = Serialized(State())

  /// The task that waits for a response, and the request, which it keeps alive.
  private typealias Running = (task: Task<Void, Never>, request: SKRequest)

  private struct State {
    var delegate = WeakReference<any SKRequestDelegate>()
    /// Nil unless a response is pending; released outside the lock.
    var running: Running?
    /// Counts starts, so that a response to a cancelled one is dropped.
    var attempt = 0
  }

  /// Creates an empty request, which finishes at once.
  public override init() { host = .shared }

  init(host: StoreHost) { self.host = host }

  /// The delegate, called on the delivery queue; not retained.
  open weak var delegate: (any SKRequestDelegate)? {
    get { state.use { $0.delegate }.object }
    set {
      let reference = WeakReference(newValue)
      state.use { $0.delegate = reference }
    }
  }

  /// Starts the request; does nothing while a response is pending.
  open func start() {
    let work = work
    state.use { state in
      guard state.running == nil else { return }
      state.attempt += 1
      let attempt = state.attempt
      let task = Task { [weak self, host] in
        let result: Result<Answer, ContentError>
        do {
          result = .success(try await work(host))
        } catch {
          result = .failure(ContentError(error, while: "asking the store"))
        }
        host.deliver { [weak self] in self?.end(attempt, result) }
      }
      state.running = (task, self)
    }
  }

  /// Cancels the request; if called on the delivery queue, the delegate is not called anymore.
  open func cancel() {
    let running = state.use { state in
      state.attempt += 1
      defer { state.running = nil }
      return state.running
    }
    running?.task.cancel()
  }

  /// Delivers the response before the request ends.
  typealias Answer = @Sendable (SKRequest, (any SKRequestDelegate)?) -> Void

  /// The work of the request; subclasses override it.
  var work: @Sendable (StoreHost) async throws -> Answer { { _ in { _, _ in } } }

  private func end(_ attempt: Int, _ result: Result<Answer, ContentError>) {
    let ended: Running? = state.use { state in
      guard state.attempt == attempt else { return nil }
      defer { state.running = nil }
      return state.running
    }
    guard ended != nil else { return }
    let delegate = delegate
    switch result {
    case .success(let answer):
      answer(self, delegate)
      // The delegate may have cancelled the request, or started it again.
      guard state.use({ $0.attempt == attempt }) else { return }
      delegate?.requestDidFinish(self)
    case .failure(let error): delegate?.request(self, didFailWithError: error.storeKitError)
    }
  }
}

extension StoreHost {
  /// Returns the session; does not block a thread of tasks while the library is opened.
  func openedSession() async throws -> Session {
    try await performBlocking { [self] in try session() }
  }
}

/// Receives the result of a request on the delivery queue; one of the two methods is called.
public protocol SKRequestDelegate: NSObjectProtocol {
  /// The request finished.
  func requestDidFinish(_ request: SKRequest)
  /// The request failed; the error is in `NSURLErrorDomain` or an `SKError`.
  func request(_ request: SKRequest, didFailWithError error: any Error)
}

extension SKRequestDelegate {
  /// Does nothing.
  public func requestDidFinish(_ request: SKRequest) {}
  /// Does nothing.
  public func request(_ request: SKRequest, didFailWithError error: any Error) {}
}
