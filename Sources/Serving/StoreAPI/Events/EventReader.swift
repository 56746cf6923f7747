import FoundationEssentials
package import HostedShop
import HostedModel

/// One look at a ledger, so that events are read once for all receivers at one position.
///
/// Used by one thread.
package final class EventReader {
  private let ledger: Ledger
  private let sign: Sign
  /// When keys are checked; nil if they are not.
  private let date: Date?
  private let loadedHead: Result<LedgerHead, any Error>
  /// Adds a receipt to a purchase.
  package typealias Sign = @Sendable (PurchaseRecord) throws -> PurchaseRecord

  /// By the number after which they begin.
  private var batches: [Int64: EventBatch] = [:]
  /// The first failure, which ended reading: a ledger that does not respond must not be asked by
  /// each receiver.
  private(set) var failure: (any Error)?
  private var chunks: [AccountAccess: [Int64: Chunk]] = [:]
  /// Whether keys can be used, by their `kid`.
  private var keys: [String: Bool] = [:]

  private static let maximumBatches = 16

  /// The bytes of several events; all streams of one viewer at one position share them.
  struct Chunk {
    let bytes: [UInt8]
    let end: Int64
  }

  /// Creates a reader that checks keys at `date`; without it, the caller was just authenticated.
  init(_ ledger: Ledger, checkingKeysAt date: Date? = nil, sign: @escaping Sign = { $0 }) {
    self.ledger = ledger
    self.sign = sign
    self.date = date
    loadedHead = Result {
      guard let head = try ledger.head() else { throw Problem.ledgerUnavailable }
      return head
    }
    if case .failure(let error) = loadedHead { failure = error }
  }

  /// The state of the ledger when the reader was created.
  var head: LedgerHead { get throws { try loadedHead.get() } }

  /// Returns the next events after a number.
  func batch(after sequence: Int64) throws -> EventBatch {
    if let known = batches[sequence] { return known }
    let batch = try read { try EventBatch(after: sequence, from: ledger, head, sign) }
    if batches.count >= Self.maximumBatches { batches = [:] }
    batches[sequence] = batch
    return batch
  }

  /// Whether the key of `viewer` can still be used; a request for events may outlive its key.
  func accepts(_ viewer: AccountAccess) throws -> Bool {
    guard let date, let kid = viewer.kid else { return true }
    if let known = keys[kid] { return known }
    let isUsable = try read { try ledger.key(kid)?.isUsable(at: date) == true }
    keys[kid] = isUsable
    return isUsable
  }

  private func read<Value>(_ body: () throws -> Value) throws -> Value {
    if let failure { throw failure }
    do {
      return try body()
    } catch let problem as Problem {
      // Only this position is too old; the ledger responds.
      throw problem
    } catch {
      failure = error
      throw error
    }
  }

  func chunk(after sequence: Int64, for viewer: AccountAccess) throws -> Chunk {
    if let known = chunks[viewer]?[sequence] { return known }
    let page = try batch(after: sequence).page(for: viewer, bytes: EventStream.maximumChunk)
    let chunk = Chunk(bytes: page.events.flatMap(\.message), end: page.end)
    chunks[viewer, default: [:]][sequence] = chunk
    return chunk
  }
}

/// An event as it is sent, encoded once for all receivers.
struct EncodedEvent: Sendable {
  let sequence: Int64
  /// The event in an event stream (WHATWG HTML, 9.2).
  let message: [UInt8]
  /// The place of the JSON in the message.
  private let document: Range<Int>
  private let account: AccountID?
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
  let events: [EncodedEvent]
  /// The batch has all events up to this number.
  let end: Int64

  /// The maximum number of events that are read together.
  private static let readLimit = 256
}

extension EventBatch {
  /// Reads the next events after a number; `head` was read before.
  init(after sequence: Int64, from ledger: Ledger, _ head: LedgerHead, _ sign: EventReader.Sign)
    throws
  {
    let read =
      head.last > sequence ? try ledger.events(after: sequence, limit: Self.readLimit) : []
    // If events were deleted since the head was read, the first ones are missing.
    if head.last > sequence, read.first?.sequence != sequence + 1,
      let newer = try ledger.head(), newer.pruned > sequence
    {
      throw Problem.cursorGone
    }
    let last = read.last?.sequence ?? sequence
    // All events up to the head were committed before it was read.
    end = read.count < Self.readLimit ? max(head.last, last) : last
    events = try read.map { event in
      var event = event
      switch event.kind {
      case .decided, .decidedAfterInterruption:
        event.purchase = try event.purchase.map { try sign($0) }
      case .purchased, .declined, .refunded, .revoked, .reversed, .published: break
      }
      return EncodedEvent(event, incarnation: head.incarnation)
    }
  }

  /// Returns the first events that `viewer` may see, with about `bytes` bytes, but at least one.
  func page(for viewer: AccountAccess, limit: Int = .max, bytes: Int) -> EventBatch {
    var page: [EncodedEvent] = []
    var size = 0
    for event in events where event.isVisible(to: viewer) {
      size += event.message.count
      if let last = page.last, page.count == limit || size > bytes {
        return EventBatch(events: page, end: last.sequence)
      }
      page.append(event)
    }
    return EventBatch(events: page, end: end)
  }
}

extension LedgerPosition {
  /// The opaque text of the position: `<incarnation>.<sequence>`.
  package var cursor: String { "\(incarnation).\(sequence)" }

  /// Parses a cursor; nil for other text.
  init?(cursor text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.utf8.count <= 84, parts.count == 2, parts[0].count <= 64,
      parts[0].allSatisfy({ $0 > 0x20 && $0 < 0x7f }), !parts[0].isEmpty,
      let sequence = Int64(String(decoding: parts[1], as: UTF8.self)),
      String(sequence).utf8.elementsEqual(parts[1]), sequence >= 0
    else { return nil }
    self.init(incarnation: String(decoding: parts[0], as: UTF8.self), sequence: sequence)
  }

  /// Parses the cursor of a request; nil if it is missing or empty.
  ///
  /// Throws a problem for other text.
  static func requested(_ cursor: String?) throws -> LedgerPosition? {
    guard let cursor, !cursor.isEmpty else { return nil }
    guard let position = LedgerPosition(cursor: cursor) else {
      throw Problem.malformed("the cursor of the events is not from this API")
    }
    return position
  }
}

extension Problem {
  /// The ledger does not have all events after a cursor.
  static var cursorGone: Problem {
    refused(
      410, "The events after this cursor are not available any more",
      remedy: "Read the entitlements of the accounts, then request events without a cursor")
  }

  /// The ledger cannot be read now.
  static var ledgerUnavailable: Problem { busy("The server cannot read its ledger now") }
}
