import Dispatch
import Concurrency

/// A queue of events from the loop to a worker, which sleeps while it is empty.
///
/// The slabs that a request may use limit its length.
final class Handover: Sendable {
  enum Event: Sendable {
    /// Complete pieces of a request.
    case pieces(request: Int, Slab)
    /// A request is idle.
    ///
    /// Its complete pieces were delivered before.
    ///
    /// The partial piece contains the received bytes of the next piece.
    case idle(request: Int, PartialPiece?)
    /// A request has ended with `received` bytes.
    ///
    /// All its pieces were delivered before.
    case ended(request: Int, ExchangeEnd, received: Int64)
    /// The ticket was cancelled.
    case cancelled
  }

  private let state = Mutex(State())
  private let signal = DispatchSemaphore(value: 0)

  private struct State {
    var events: [Event] = []
    var isAwaited = false
  }

  func push(_ events: Event...) {
    let mustWake = state.withLock { state in
      state.events += events
      defer { state.isAwaited = false }
      return state.isAwaited
    }
    // Only wake a worker that sleeps, since this costs a system call.
    if mustWake { signal.signal() }
  }

  /// Returns all events.
  ///
  /// Blocks until there is at least one.
  func pop() -> [Event] {
    while true {
      let events = state.withLock { state in
        state.isAwaited = state.events.isEmpty
        defer { state.events = [] }
        return state.events
      }
      if !events.isEmpty { return events }
      signal.wait()
    }
  }
}
