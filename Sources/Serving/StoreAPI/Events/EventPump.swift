import HostedHTTPValues
import HostedModel
import FoundationEssentials
import HostedLedger

/// A request that waits for events.
struct EventPoll: Sendable {
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
struct EventPump {
  private let ledger: Ledger
  private let report: @Sendable (ContentError) -> Void
  private var polls: [EventPoll] = []
  private var streams: [EventStream] = []
  /// Whether the last round could not read the ledger.
  private var hasFailed = false

  init(_ ledger: Ledger, report: @escaping @Sendable (ContentError) -> Void) {
    self.ledger = ledger
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
    let reader = EventReader(ledger, checkingKeysAt: date)
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
