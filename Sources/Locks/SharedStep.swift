/// Lets threads that want the same costly step at the same time, such as a sync, share it.
///
/// Whoever finds nobody at it carries it out at once. Those who come meanwhile wait, and the first of
/// them whose turn it is carries out a single step for all of them: so what somebody did before he
/// came is covered by a step that began after it. A thread that is alone waits for nobody. From any
/// thread.
package final class SharedStep<Request: Sendable>: Sendable {
  private let turn: any Turn
  private let waiting = Mutex<[Seat]>([])

  /// One who takes part, and what became of his request once somebody has carried it out.
  private final class Seat: Sendable {
    let request: Request
    let outcome = Mutex<Result<Void, any Error>?>(nil)

    init(_ request: Request) { self.request = request }
  }

  /// `turn` is had while a step is carried out.
  package init(turn: any Turn = LockedTurn()) { self.turn = turn }

  /// How many wait until somebody is done.
  var waitingCount: Int { waiting.withLock { $0.count } }

  /// Returns once `perform` was called with `request`, alone or among others; throws what it says of it.
  ///
  /// `perform` answers each request in its order. It is called on the thread of any one of them, by
  /// one thread at a time.
  package func join(
    _ request: Request, perform: ([Request]) -> [Result<Void, any Error>]
  ) throws {
    let seat = Seat(request)
    waiting.withLock { $0.append(seat) }
    turn.take {
      // Somebody else may have done it with his own.
      guard seat.outcome.withLock({ $0 == nil }) else { return }
      let seats = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      for (seat, outcome) in zip(seats, perform(seats.map(\.request))) {
        seat.outcome.withLock { $0 = outcome }
      }
    }
    if let outcome = seat.outcome.withLock({ $0 }) { try outcome.get() }
  }
}
