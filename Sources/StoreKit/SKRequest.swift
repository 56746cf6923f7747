public import Foundation
import HostedContent
import Locks

/// Something that is asked of the store; keep it until its delegate was called.
// Sendable because all that changes is behind a lock.
open class SKRequest: NSObject, @unchecked Sendable {
  let host: StoreHost
  private let state = Mutex(State())

  private struct State {
    var delegate = WeakReference<any SKRequestDelegate>()
    var task: Task<Void, Never>?
    /// Counts starts, so that an answer to a cancelled one is not delivered.
    var attempt = 0
  }

  /// Creates a request that asks for nothing and finishes.
  public override init() { host = .shared }

  init(host: StoreHost) { self.host = host }

  deinit { cancel() }

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
      guard state.task == nil else { return }
      state.attempt += 1
      let attempt = state.attempt
      state.task = Task { [weak self, host] in
        let result: Result<Answer, ContentError>
        do {
          result = .success(try await work(host))
        } catch {
          result = .failure(ContentError(error, while: "asking the store"))
        }
        host.deliver { [weak self] in self?.end(attempt, result) }
      }
    }
  }

  /// Takes the question back; the delegate hears nothing more.
  open func cancel() {
    let task = state.withLock { state in
      state.attempt += 1
      defer { state.task = nil }
      return state.task
    }
    task?.cancel()
  }

  /// What is told before the request's end.
  typealias Answer = @Sendable (SKRequest, (any SKRequestDelegate)?) -> Void

  /// What is done; subclasses say it.
  var work: @Sendable (StoreHost) async throws -> Answer { { _ in { _, _ in } } }

  private func end(_ attempt: Int, _ result: Result<Answer, ContentError>) {
    let (isCurrent, reference) = state.withLock { state in
      guard state.attempt == attempt else { return (false, state.delegate) }
      state.task = nil
      return (true, state.delegate)
    }
    guard isCurrent else { return }
    let delegate = reference.object
    switch result {
    case .success(let answer):
      answer(self, delegate)
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
