public import ContentModel
public import FoundationEssentials
import Concurrency

/// One download's handle on its transfers: stops them, changes their priority, says how they go.
///
/// Made by whoever starts a transfer and handed to it; safe from any thread. One ticket may serve
/// several transfers, one after the other or at once, and once cancelled it stays so.
package final class TransferTicket: Sendable {
  /// Tells tickets apart within the process.
  let id: Int
  private let state: Mutex<State>
  /// What its transfers did so far, as they write it down.
  let counters = TransferCounters()

  private struct State {
    var priority: Int
    var isCancelled = false
    var running: Set<Int> = []
    var waits: [Int: TransferWait] = [:]
    /// What is done when it is cancelled or its priority changes, by transfer.
    var listeners: [Int: @Sendable (Change) -> Void] = [:]
    var nextListener = 0
  }

  /// What a running transfer must hear of.
  enum Change: Sendable {
    case cancelled
    case priority(Int)
  }

  private static let counter = Atomic<Int>(0)

  /// Creates a ticket; of two transfers that wait, the one with the higher priority starts first.
  package init(priority: Int = 0) {
    id = Self.counter.add(1, ordering: .relaxed).newValue
    state = Mutex(State(priority: priority))
  }

  // MARK: For whoever started the transfer

  /// Ends its transfers promptly: what blocks in them throws `stopped`.
  package func cancel() {
    let listeners = state.withLock { state in
      state.isCancelled = true
      return Array(state.listeners.values)
    }
    for listener in listeners { listener(.cancelled) }
  }

  /// Whether `cancel` was called.
  package var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Throws `stopped` when `cancel` was called.
  package func checkCancelled() throws {
    guard isCancelled else { return }
    throw ContentError(
      .stopped, "The download was stopped", remedy: "Start it again; what was fetched is kept")
  }

  /// The priority; a change counts for every request that has not started.
  package var priority: Int {
    get { state.withLock { $0.priority } }
    set {
      let listeners = state.withLock { state in
        state.priority = newValue
        return Array(state.listeners.values)
      }
      for listener in listeners { listener(.priority(newValue)) }
    }
  }

  /// What its transfers do now.
  package var status: TransferStatus {
    state.withLock { state in
      if !state.running.isEmpty {
        return .transferring(requests: state.running.count)
      }
      return state.waits.values.min { $0.isBefore($1) }.map(TransferStatus.waiting) ?? .idle
    }
  }

  /// What its transfers did so far.
  package var statistics: TransferStatistics { counters.statistics }

  /// Takes note of bytes that were there from before and need no transfer.
  package func reuse(_ bytes: Int64) { counters.record { $0.bytesReused += bytes } }

  /// Takes note of a package that is fetched whole, and why.
  package func takeWhole(because reason: String) {
    counters.record { $0.wholePackages[reason, default: 0] += 1 }
  }

  // MARK: For the loop

  func wait(_ request: Int, _ wait: TransferWait) {
    state.withLock { $0.waits[request] = wait }
  }

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

  /// Calls `listener` at each change until `removeListener`; at once when it is cancelled already.
  func addListener(_ listener: @escaping @Sendable (Change) -> Void) -> Int {
    let (number, isCancelled) = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = listener
      return (state.nextListener, state.isCancelled)
    }
    if isCancelled { listener(.cancelled) }
    return number
  }

  func removeListener(_ number: Int) { state.withLock { $0.listeners[number] = nil } }
}

/// What a transfer does now.
package enum TransferStatus: Hashable, Sendable {
  /// Nothing is under way.
  case idle
  /// It waits.
  case waiting(TransferWait)
  /// Bytes are on their way.
  case transferring(requests: Int)
}

/// Why a transfer waits, and until when.
public struct TransferWait: Hashable, Sendable {
  /// What it waits for.
  public let reason: Reason
  /// When it goes on at the latest, unless something else keeps it then; nil when nobody knows.
  public let until: Date?
  /// Where it goes on.
  public let host: String

  /// What a transfer waits for.
  public enum Reason: Hashable, Sendable {
    /// Its turn: as many requests are under way as may be.
    case turn
    /// Its turn at the host: as many requests to it are under way as may be.
    case turnAtHost
    /// Room for its buffers.
    case memory
    /// The next attempt after a failure, which the code and the words name.
    case retry(ContentError.Code, String)
    /// The end of the time for which the server asked (`Retry-After`).
    case serverAsked(ContentError.Code, String)
  }

  func isBefore(_ other: TransferWait) -> Bool {
    (until ?? .distantPast) < (other.until ?? .distantPast)
  }
}
