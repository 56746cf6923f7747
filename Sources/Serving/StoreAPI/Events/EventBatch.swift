import ContentModel
import ContentTrust
import StoreLedger

/// An event as it is sent, encoded once for all receivers.
struct EncodedEvent: Sendable {
  let sequence: Int64
  /// The event in an event stream (WHATWG HTML, 9.2).
  let message: [UInt8]
  /// The place of the JSON in the message.
  private let document: Range<Int>
  private let account: String?
  private let isPublic: Bool

  init(_ event: LedgerEvent, incarnation: String) {
    sequence = event.sequence
    account = event.purchase?.account
    isPublic = event.kind == .published
    let cursor = LedgerPosition(incarnation: incarnation, sequence: event.sequence).cursor
    var message = Array("id: \(cursor)\nevent: \(event.kind.nameInMessages)\ndata: ".utf8)
    let start = message.count
    // Without line breaks, which would end the field.
    message += event.json(cursor: cursor).encoded
    document = start..<message.count
    message += "\n\n".utf8
    self.message = message
  }

  var json: ArraySlice<UInt8> { message[document] }

  /// Whether `viewer` may see it.
  func isVisible(to viewer: AccountAccess) -> Bool { isPublic || viewer.mayUse(account) }
}

/// Events in commit order.
struct EventBatch: Sendable {
  var events: ArraySlice<EncodedEvent>
  /// The batch has all events up to this number.
  let end: Int64

  /// The maximum number of events that are read together.
  private static let readLimit = 256

  init(_ events: ArraySlice<EncodedEvent>, end: Int64) {
    self.events = events
    self.end = end
  }

  /// Reads the next events after a number; `head` was read before.
  init(after sequence: Int64, from ledger: Ledger, _ head: LedgerHead) throws {
    let read =
      head.last > sequence ? try ledger.events(after: sequence, limit: Self.readLimit) : []
    let last = read.last?.sequence ?? sequence
    // All events up to the head were committed before it was read.
    end = read.count < Self.readLimit ? max(head.last, last) : last
    events = read.map { EncodedEvent($0, incarnation: head.incarnation) }[...]
  }

  /// Returns the first events that `viewer` may see, with about `bytes` bytes, but at least one.
  func page(for viewer: AccountAccess, limit: Int = .max, bytes: Int) -> EventBatch {
    var page: ArraySlice<EncodedEvent> = []
    var size = 0
    for event in events where event.isVisible(to: viewer) {
      size += event.message.count
      if let last = page.last, page.count == limit || size > bytes {
        return EventBatch(page, end: last.sequence)
      }
      page.append(event)
    }
    return EventBatch(page, end: end)
  }
}

/// The newest events of a ledger, so that they are read once for all receivers.
struct EventWindow {
  private var incarnation: String?
  private var erased: Int64 = 0
  /// All events after `start`, up to `end`.
  private var events: [EncodedEvent] = []
  private var (start, end): (Int64, Int64) = (0, 0)
  private var size = 0

  /// The maximum size of the events in bytes.
  private static let maximumSize = 1 << 20

  /// Reads new events, and returns the head of the ledger.
  ///
  /// The first time, after the ledger was replaced, and after an account was erased, which the
  /// events may name, the window begins at the head.
  mutating func update(from ledger: Ledger) throws -> LedgerHead {
    guard let head = try ledger.head() else { throw Problem.ledgerUnavailable }
    if incarnation != head.incarnation || erased != head.erased || end > head.last {
      self = EventWindow()
      (incarnation, erased, start, end) = (head.incarnation, head.erased, head.last, head.last)
    }
    let batch = try EventBatch(after: end, from: ledger, head)
    events += batch.events
    end = batch.end
    size += batch.events.reduce(0) { $0 + $1.message.count }
    removeOldest()
    return head
  }

  private mutating func removeOldest() {
    var count = 0
    while size > Self.maximumSize, count < events.count {
      size -= events[count].message.count
      start = events[count].sequence
      count += 1
    }
    events.removeFirst(count)
  }

  /// Returns the next events after a number, from the ledger if the window begins later.
  func batch(after sequence: Int64, from ledger: Ledger, _ head: LedgerHead) throws -> EventBatch {
    guard sequence >= start else {
      return try EventBatch(after: sequence, from: ledger, head)
    }
    let first = events.lastIndex { $0.sequence <= sequence }.map { $0 + 1 } ?? 0
    return EventBatch(events[first...], end: max(sequence, end))
  }
}
