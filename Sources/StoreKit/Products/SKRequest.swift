public import Foundation
import HostedContent
import Concurrency

/// A question to the store.
///
/// From `start()` on it lives until it has ended or is cancelled, also if the program does not keep
/// it.
// Sendable because all that changes is behind a lock.
open class SKRequest: NSObject, @unchecked Sendable {
  let host: StoreHost
  private let state = Mutex(State())

  /// The task that waits for an answer, and the request itself, which lives until then.
  private typealias Running = (task: Task<Void, Never>, request: SKRequest)

  private struct State {
    var delegate = WeakReference<any SKRequestDelegate>()
    /// Nil unless an answer is waited for; released outside the lock.
    var running: Running?
    /// Counts starts, so that an answer to a cancelled one is not delivered.
    var attempt = 0
  }

  /// Creates a request that asks for nothing and finishes.
  public override init() { host = .shared }

  init(host: StoreHost) { self.host = host }

  /// Who is told, on the delivery queue; not retained.
  open weak var delegate: (any SKRequestDelegate)? {
    get { state.withLock { $0.delegate }.object }
    set {
      let reference = WeakReference(newValue)
      state.withLock { $0.delegate = reference }
    }
  }

  /// Asks; does nothing while an answer is waited for.
  open func start() {
    let work = work
    state.withLock { state in
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

  /// Takes the question back; the delegate hears nothing more.
  open func cancel() {
    let running = state.withLock { state in
      state.attempt += 1
      defer { state.running = nil }
      return state.running
    }
    running?.task.cancel()
  }

  /// What is told before the request's end.
  typealias Answer = @Sendable (SKRequest, (any SKRequestDelegate)?) -> Void

  /// What is done; subclasses say it.
  var work: @Sendable (StoreHost) async throws -> Answer { { _ in { _, _ in } } }

  private func end(_ attempt: Int, _ result: Result<Answer, ContentError>) {
    let ended: Running? = state.withLock { state in
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
      guard state.withLock({ $0.attempt == attempt }) else { return }
      delegate?.requestDidFinish(self)
    case .failure(let error): delegate?.request(self, didFailWithError: error.storeKitError)
    }
  }
}

/// Who is told how a request ended, on the delivery queue; one of the two is called.
public protocol SKRequestDelegate: NSObjectProtocol {
  /// The request was answered.
  func requestDidFinish(_ request: SKRequest)
  /// The request failed: of the network in `NSURLErrorDomain`, else an `SKError`.
  func request(_ request: SKRequest, didFailWithError error: any Error)
}

extension SKRequestDelegate {
  /// Does nothing.
  public func requestDidFinish(_ request: SKRequest) {}
  /// Does nothing.
  public func request(_ request: SKRequest, didFailWithError error: any Error) {}
}
