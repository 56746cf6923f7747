public import HostedModel
public import FoundationEssentials
import HostedConcurrency

/// Controls the transfers of one download: cancels them, sets their priority, reports on them.
///
/// The owner of a transfer creates a ticket and passes it along. Use it from any thread. A ticket
/// may serve several transfers, also at the same time. A cancelled ticket stays cancelled.
package final class TransferTicket: Sendable {
  /// A unique number in the process.
  let id: Int
  private let isStopped: @Sendable () throws -> Void
  private let state: Mutex<State>
  let counters = TransferCounters()

  private struct State {
    var priority: Int
    /// The error that its transfers throw after it was cancelled; nil before.
    var error: (any Error)?
    var running: Set<Int> = []
    var waits: [Int: TransferWait] = [:]
    /// The functions to call when it is cancelled, by transfer.
    var listeners: [Int: @Sendable () -> Void] = [:]
    var nextListener = 0
  }

  private static let counter = Atomic<Int>(0)

  /// Creates a ticket; a waiting transfer with a higher priority starts first.
  ///
  /// `checkCancelled` also throws the errors of `isStopped`, which may be called from any thread.
  package init(priority: Int = 0, isStopped: @escaping @Sendable () throws -> Void = {}) {
    id = Self.counter.add(1, ordering: .relaxed).newValue
    self.isStopped = isStopped
    state = Mutex(State(priority: priority))
  }

  // MARK: The owner of the transfer

  /// Ends its transfers soon; calls that block in them throw `stopped`.
  package func cancel() {
    cancel(
      throwing: ContentError(
        .stopped, "The download was stopped", remedy: "Start it again. Fetched data is kept"))
  }

  /// Ends its transfers promptly; blocked calls throw `error`, or the error of an earlier call.
  package func cancel(throwing error: any Error) {
    let listeners = state.withLock { state in
      state.error = state.error ?? error
      return Array(state.listeners.values)
    }
    for listener in listeners { listener() }
  }

  /// Throws the error of `cancel` if it was called, or that of `isStopped`.
  package func checkCancelled() throws {
    if let error = state.withLock({ $0.error }) { throw error }
    try isStopped()
  }

  /// The priority; a change applies to all requests that have not started.
  package var priority: Int {
    get { state.withLock { $0.priority } }
    set { state.withLock { $0.priority = newValue } }
  }

  package var status: TransferStatus {
    state.withLock { state in
      if !state.running.isEmpty { return .transferring(requests: state.running.count) }
      let first = state.waits.values.min {
        ($0.until ?? .distantPast) < ($1.until ?? .distantPast)
      }
      return first.map(TransferStatus.waiting) ?? .idle
    }
  }

  /// The statistics of its transfers so far.
  package var statistics: TransferStatistics { counters.statistics }

  /// Records bytes that already exist locally and need no transfer.
  package func reuse(_ bytes: Int64) { counters.record { $0.bytesReused += bytes } }

  /// Records that a package is fetched whole, and why.
  package func takeWhole(because reason: String) {
    counters.record { $0.wholePackages[reason, default: 0] += 1 }
  }

  // MARK: The loop

  func wait(_ request: Int, _ wait: TransferWait) { state.withLock { $0.waits[request] = wait } }

  func started(_ request: Int) {
    state.withLock { state in
      state.waits[request] = nil
      state.running.insert(request)
    }
  }

  func ended(_ request: Int) {
    state.withLock { state in
      state.waits[request] = nil
      state.running.remove(request)
    }
  }

  /// Calls `listener` when it is cancelled, until `removeListener`; now if it is cancelled already.
  func addListener(_ listener: @escaping @Sendable () -> Void) -> Int {
    let (number, isCancelled) = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = listener
      return (state.nextListener, state.error != nil)
    }
    if isCancelled { listener() }
    return number
  }

  func removeListener(_ number: Int) { state.withLock { $0.listeners[number] = nil } }
}

package enum TransferStatus: Hashable, Sendable {
  /// No request is waiting or running.
  case idle
  /// All requests are waiting.
  case waiting(TransferWait)
  /// Requests are running.
  case transferring(requests: Int)
}

/// Why a transfer waits, and until when.
public struct TransferWait: Hashable, Sendable {
  /// What it waits for.
  public let reason: Reason
  /// The latest date at which it continues, unless there is another delay, or nil if unknown.
  public let until: Date?
  /// The host of the next request.
  public let host: String

  /// What a transfer waits for.
  public enum Reason: Hashable, Sendable {
    /// A free place: the maximum number of requests is running.
    case turn
    /// A free place at the host: the maximum number of requests to it is running.
    case turnAtHost
    /// Memory for its buffers.
    case memory
    /// The next attempt after a failure, with the code and message of the error.
    case retry(code: ContentError.Code, message: String)
    /// The end of the delay that the server asked for (`Retry-After`).
    case serverAsked(code: ContentError.Code, message: String)
  }
}

extension TransferWait.Reason {
  /// Creates the reason why the next attempt after `fault` waits.
  init(_ fault: TransferFault, from url: WebURL) {
    let error = ContentError(fault, from: url, subject: url.description)
    self =
      fault.retryAfter == nil
      ? .retry(code: error.code, message: error.message)
      : .serverAsked(code: error.code, message: error.message)
  }
}
