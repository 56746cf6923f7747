package import HostedHTTPValues
import HostedConcurrency
package import HostedModel
import Dispatch
package import FoundationEssentials
package import HostedLedger

/// Delivers the events of a ledger to waiting requests and event streams, with one thread for all.
///
/// Thread-safe. The thread starts with the first receiver, and ends with `close`, which must be
/// called.
package final class EventFeed: Sendable {
  private struct State {
    /// The receivers that the thread has not taken over.
    var (polls, streams): ([EventPoll], [EventStream]) = ([], [])
    /// The number of all receivers.
    var count = 0
    var isWoken = false
    var isClosed = false
  }

  private let ledger: Ledger
  private let now: @Sendable () -> Date
  private let report: @Sendable (ContentError) -> Void
  private let clock: @Sendable () -> ContinuousClock.Instant
  private let maximumReceivers: Int
  private let state = Mutex(State())
  private let thread = Serialized<WorkThread?>(nil)
  private let signal = DispatchSemaphore(value: 0)

  /// The time after which new events of another server are found.
  private static let pollInterval: Duration = .seconds(1)

  /// Creates a feed; `report` gets the errors of the ledger, on any thread.
  ///
  /// `now` is the date for keys that expire, and `clock` is for waits.
  package init(
    _ ledger: Ledger, now: @escaping @Sendable () -> Date = { Date() },
    report: @escaping @Sendable (ContentError) -> Void = { _ in },
    maximumReceivers: Int = 4_096,
    clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.ledger = ledger
    self.now = now
    self.report = report
    self.clock = clock
    self.maximumReceivers = maximumReceivers
  }

  // MARK: Receivers

  /// Responds with up to `limit` events, at least one, after a cursor, or after the head for nil.
  ///
  /// Waits at most `wait` for the first one, and then responds without events. `respond` is called
  /// once, on any thread. Blocks while it reads the ledger.
  package func poll(
    after cursor: String?, viewer: AccountAccess, wait: Duration, limit: Int,
    respond: @escaping StoreAPI.Respond
  ) {
    do {
      let (reader, position) = try begin(after: cursor)
      var poll = EventPoll(
        viewer: viewer, limit: limit, deadline: clock() + wait,
        respond: respond, position: position)
      if let response = try poll.response(from: reader, isOver: wait <= .zero) {
        return respond(response)
      }
      try add { $0.polls.append(poll) }
    } catch {
      respond(Problem(error, report: report).response)
    }
  }

  /// Returns a stream of the events after a cursor, or after the head for nil.
  package func stream(after cursor: String?, viewer: AccountAccess) -> HTTPResponse<APIBody> {
    do {
      let (_, position) = try begin(after: cursor)
      let stream = EventStream(self, viewer: viewer, after: position, from: clock())
      try add { $0.streams.append(stream) }
      return HTTPResponse(
        200,
        headers: [
          "Content-Type": "text/event-stream", "Cache-Control": "no-store",
          // nginx sends each event at once.
          "X-Accel-Buffering": "no",
        ], body: .stream(stream))
    } catch {
      return Problem(error, report: report).response
    }
  }

  private func begin(after cursor: String?) throws -> (EventReader, LedgerPosition) {
    let reader = EventReader(ledger)
    let head = try reader.head
    let position = try LedgerPosition.requested(cursor) ?? head.position
    guard head.has(position) else { throw Problem.cursorGone }
    return (reader, position)
  }

  private func add(_ append: (inout State) -> Void) throws {
    try start()
    let refusal = state.withLock { state -> Problem? in
      guard !state.isClosed else { return .ledgerUnavailable }
      guard state.count < maximumReceivers else {
        return .busy(
          "Too many requests and streams wait for events",
          remedy: "Repeat the request later, or request events without waiting", after: 5)
      }
      append(&state)
      state.count += 1
      return nil
    }
    if let refusal { throw refusal }
    wake()
  }

  // MARK: The thread

  /// Delivers new events soon; for calls after each commit of this process.
  package func wake() {
    let isAsleep = state.withLock { state in
      guard !state.isWoken, state.count > 0 || state.isClosed else { return false }
      state.isWoken = true
      return true
    }
    if isAsleep { signal.signal() }
  }

  /// Lets the thread respond to all waiting requests, end all streams, and end.
  ///
  /// Does not wait for it: the ledger may hang.
  package func beginClose() {
    state.withLock { $0.isClosed = true }
    wake()
  }

  /// Like `beginClose`, but waits for the end of the thread.
  package func close() {
    beginClose()
    thread.use { thread in
      thread?.end()
      thread = nil
    }
  }

  private func start() throws {
    try thread.use { thread in
      // Checked here, so that `close` takes every thread.
      guard thread == nil, !state.withLock({ $0.isClosed }) else { return }
      thread = try WorkThread("the thread that delivers events") { self.run() }
    }
  }

  private func run() {
    var pump = EventPump(ledger, report: report)
    while true {
      let isClosed = state.withLock { state in
        pump.add(state.polls, state.streams)
        (state.polls, state.streams, state.isWoken) = ([], [], false)
        return state.isClosed
      }
      let known = pump.count
      let hasMore = pump.round(at: clock(), date: now(), isLast: isClosed)
      let finished = known - pump.count
      state.withLock { $0.count -= finished }
      if isClosed { return }
      if !hasMore { waitForWork(pump) }
    }
  }

  /// Sleeps until `wake`, and while receivers wait, at most until something may be due.
  private func waitForWork(_ pump: EventPump) {
    guard pump.count > 0 else { return signal.wait() }
    let remaining = pump.deadline.map { $0 - clock() } ?? Self.pollInterval
    let time = max(.zero, min(remaining, Self.pollInterval))
    _ = signal.wait(timeout: .now() + time.inSeconds)
  }
}
