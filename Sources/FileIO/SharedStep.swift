import Dispatch
import Locks

/// Lets threads that want the same costly step at the same time, such as a sync, share it.
///
/// Whoever finds nobody at it carries it out at once. Those who come meanwhile wait, and one of them
/// then carries out a single step for all of them: so what somebody did before he came is covered by
/// a step that began after it. A thread that is alone pays nothing for the others. From any thread.
package final class SharedStep<Request: Sendable>: Sendable {
  private let state = Mutex(State())
  private let makeSignal: MakeThreadSignal

  private struct State {
    var waiting: [Seat] = []
    var isTaken = false
  }

  /// One who takes part, and what he hears at the end.
  private final class Seat: Sendable {
    let request: Request
    let call: any ThreadSignal
    /// Set by the one who carries it out, before the call; nil for whoever is to do so next.
    let outcome = Mutex<Result<Void, any Error>?>(nil)

    init(_ request: Request, _ call: any ThreadSignal) {
      self.request = request
      self.call = call
    }
  }

  package init(_ makeSignal: @escaping MakeThreadSignal = DispatchSemaphore.unsent) {
    self.makeSignal = makeSignal
  }

  /// How many wait until somebody is done.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Returns once `perform` was called with `request`, alone or among others; throws what it says of it.
  ///
  /// `perform` answers each request in its order. It is called on the thread of any one of them, by
  /// one thread at a time.
  package func join(
    _ request: Request, perform: ([Request]) -> [Result<Void, any Error>]
  ) throws {
    let seat = Seat(request, makeSignal())
    let isFirst = state.withLock { state in
      state.waiting.append(seat)
      defer { state.isTaken = true }
      return !state.isTaken
    }
    if !isFirst { seat.call.wait() }
    if let outcome = seat.outcome.withLock({ $0 }) { return try outcome.get() }
    let seats = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for (other, outcome) in zip(seats, perform(seats.map(\.request))) {
      other.outcome.withLock { $0 = outcome }
      if other !== seat { other.call.send() }
    }
    let next = state.withLock { state in
      state.isTaken = !state.waiting.isEmpty
      return state.waiting.first
    }
    next?.call.send()
    if let outcome = seat.outcome.withLock({ $0 }) { try outcome.get() }
  }
}
