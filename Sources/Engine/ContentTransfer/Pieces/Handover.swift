import Dispatch
import Concurrency

/// What the loop has for a worker, in order; the worker sleeps while there is nothing.
///
/// Bounded by the slabs that a request may have out, not by itself.
final class Handover: Sendable {
  enum Event: Sendable {
    /// Whole pieces of a request came.
    case pieces(request: Int, Slab)
    /// Nothing has come of a request for a while; all its whole pieces came before, and what it has
    /// of the next one is in this.
    case idle(request: Int, PartialPiece?)
    /// A request has ended, with `received` bytes; all its pieces came before.
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
    // Only a sleeping worker costs a system call.
    if mustWake { signal.signal() }
  }

  /// All events that there are, at least one; blocks until there is.
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
