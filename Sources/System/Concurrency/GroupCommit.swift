import Dispatch

/// Shares a costly step, such as a sync, among threads that need it at the same time.
///
/// If no step is in progress, the caller runs it. Callers that arrive during a step wait. Then one
/// of them runs a single step for all of them. A step therefore always begins after the calls that
/// it covers. Use it from any thread.
package final class GroupCommit<Request: Sendable>: Sendable {
  private let state = Mutex(State())
  private let makeSignal: MakeThreadSignal

  private struct State {
    var waiting: [Waiter] = []
    var isRunning = false
  }

  /// A call and its outcome.
  private final class Waiter: Sendable {
    let request: Request
    let signal: any ThreadSignal
    /// Set before the signal, or nil for the waiter that runs the next step.
    let outcome = Mutex<Result<Void, any Error>?>(nil)

    init(_ request: Request, _ signal: any ThreadSignal) {
      self.request = request
      self.signal = signal
    }
  }

  package init(_ makeSignal: @escaping MakeThreadSignal = DispatchSemaphore.unsent) {
    self.makeSignal = makeSignal
  }

  /// Waits until `perform` was called with `request`, alone or with others.
  ///
  /// Throws its outcome. `perform` returns one outcome per request, in the same order. It runs on
  /// the thread of one of the callers, one call at a time.
  package func join(
    _ request: Request, perform: ([Request]) -> [Result<Void, any Error>]
  ) throws {
    let waiter = Waiter(request, makeSignal())
    let isFirst = state.withLock { state in
      state.waiting.append(waiter)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if !isFirst { waiter.signal.wait() }
    if let outcome = waiter.outcome.withLock({ $0 }) { return try outcome.get() }
    let waiters = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for (other, outcome) in zip(waiters, perform(waiters.map(\.request))) {
      other.outcome.withLock { $0 = outcome }
      if other !== waiter { other.signal.send() }
    }
    let next = state.withLock { state in
      state.isRunning = !state.waiting.isEmpty
      return state.waiting.first
    }
    next?.signal.send()
    if let outcome = waiter.outcome.withLock({ $0 }) { try outcome.get() }
  }
}
