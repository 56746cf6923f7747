import Dispatch
package import FoundationEssentials
import HostedConcurrency
package import HostedHTTPValues
package import HostedShop
package import HostedModel

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
  private let sign: EventReader.Sign
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
    _ ledger: Ledger, sign: @escaping EventReader.Sign = { $0 },
    now: @escaping @Sendable () -> Date = { Date() },
    report: @escaping @Sendable (ContentError) -> Void = { _ in },
    maximumReceivers: Int = 4_096,
    clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.ledger = ledger
    self.sign = sign
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
    let reader = EventReader(ledger, sign: sign)
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
    var pump = EventPump(ledger, sign: sign, report: report)
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

/// A request that waits for events.
private struct EventPoll: Sendable {
  let viewer: AccountAccess
  let limit: Int
  let deadline: ContinuousClock.Instant
  let respond: StoreAPI.Respond
  /// After the events that were examined.
  var position: LedgerPosition
  /// Whether there are more events after the position.
  private(set) var isBehind = false

  /// The length of a response with several events, about, in bytes.
  private static let maximumBody = 256 << 10

  /// Reads the next events, and returns the response if one is visible or the time `isOver`.
  ///
  /// Throws if the ledger cannot be read.
  mutating func response(from reader: EventReader, isOver: Bool) throws -> HTTPResponse<APIBody>? {
    isBehind = false
    let head = try reader.head
    guard head.has(position) else { return Problem.cursorGone.response }
    let page = try reader.batch(after: position.sequence)
      .page(for: viewer, limit: limit, bytes: Self.maximumBody)
    guard try page.events.isEmpty || reader.accepts(viewer) else {
      return Problem.unauthorized("The key has expired or was revoked").response
    }
    position = LedgerPosition(incarnation: position.incarnation, sequence: page.end)
    isBehind = page.end < head.last
    guard isOver || !page.events.isEmpty else { return nil }
    var body = Array("{\"cursor\":\"\(position.cursor)\",\"events\":[".utf8)
    for (number, event) in page.events.enumerated() {
      if number > 0 { body.append(UInt8(ascii: ",")) }
      body += event.json
    }
    body += "]}".utf8
    var headers: HTTPHeaders = [
      "Content-Type": "application/json", "Cache-Control": "no-store",
    ]
    if isBehind {
      let cursor = PercentEncoding.component(position.cursor)
      headers.append(.link(toNext: "/v1/events?after=\(cursor)&limit=\(limit)"))
    }
    return HTTPResponse(200, headers: headers, body)
  }
}

/// Delivers events to all receivers, in rounds, on the thread of a feed.
private struct EventPump {
  private let ledger: Ledger
  private let sign: EventReader.Sign
  private let report: @Sendable (ContentError) -> Void
  private var polls: [EventPoll] = []
  private var streams: [EventStream] = []
  /// Whether the last round could not read the ledger.
  private var hasFailed = false

  init(
    _ ledger: Ledger, sign: @escaping EventReader.Sign,
    report: @escaping @Sendable (ContentError) -> Void
  ) {
    self.ledger = ledger
    self.sign = sign
    self.report = report
  }

  var count: Int { polls.count + streams.count }

  /// When the next poll must be answered; nil without polls.
  var deadline: ContinuousClock.Instant? { polls.lazy.map(\.deadline).min() }

  mutating func add(_ polls: [EventPoll], _ streams: [EventStream]) {
    self.polls += polls
    self.streams += streams
  }

  /// Delivers what is available, and removes receivers that are finished.
  ///
  /// Returns whether there may be more. With `isLast`, all receivers are finished. `date` is for
  /// keys that expire.
  mutating func round(at now: ContinuousClock.Instant, date: Date, isLast: Bool) -> Bool {
    guard count > 0 else { return false }
    let reader = EventReader(ledger, checkingKeysAt: date, sign: sign)
    answerPolls(reader, now, isLast: isLast)
    let hasMore = feedStreams(reader, now)
    note(reader.failure)
    if isLast {
      streams.forEach { $0.finish() }
      streams = []
    }
    return hasMore || polls.contains(where: \.isBehind)
  }

  /// Reports the first of failures in a row.
  private mutating func note(_ failure: (any Error)?) {
    if let failure, !hasFailed, !(failure is Problem) {
      report(ContentError(failure, while: "reading events"))
    }
    hasFailed = failure != nil
  }

  private mutating func answerPolls(
    _ reader: EventReader, _ now: ContinuousClock.Instant, isLast: Bool
  ) {
    var waiting: [EventPoll] = []
    for var poll in polls {
      let isOver = isLast || poll.deadline <= now
      var response: HTTPResponse<APIBody>?
      do {
        response = try poll.response(from: reader, isOver: isOver)
      } catch {
        response = isOver ? Problem.ledgerUnavailable.response : nil
      }
      if let response {
        poll.respond(response)
      } else {
        waiting.append(poll)
      }
    }
    polls = waiting
  }

  /// Returns whether there may be more for a stream that got nothing.
  private mutating func feedStreams(_ reader: EventReader, _ now: ContinuousClock.Instant) -> Bool {
    var open: [EventStream] = []
    var hasMore = false
    for stream in streams {
      switch stream.demand(at: now) {
      case .finished:
        stream.finish()
        continue
      case .nothing: break
      case .events(let position):
        do {
          let head = try reader.head
          guard head.has(position) else {
            stream.finish()
            continue
          }
          let chunk = try reader.chunk(after: position.sequence, for: stream.viewer)
          guard try chunk.bytes.isEmpty || reader.accepts(stream.viewer) else {
            stream.finish()
            continue
          }
          let isBehind = chunk.end < head.last
          if isBehind, chunk.bytes.isEmpty { hasMore = true }
          stream.send(
            chunk.bytes,
            after: LedgerPosition(incarnation: head.incarnation, sequence: chunk.end),
            isBehind: isBehind, at: now)
        } catch {
          stream.keepAlive(at: now)
        }
      }
      open.append(stream)
    }
    streams = open
    return hasMore
  }
}
