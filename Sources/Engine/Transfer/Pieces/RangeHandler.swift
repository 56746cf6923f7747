package import FoundationEssentials
import HostedConcurrency
package import HostedHTTPValues

/// Receives the answer for one range on the loop's thread, and passes its pieces to the worker.
///
/// Unchecked, because its variables belong to the loop's thread, except for the room, which has a
/// lock.
final class RangeHandler: ExchangeHandler, @unchecked Sendable {
  /// The request's number in the fetch.
  let number: Int
  private let question: RangeQuestion
  private let slabs: SlabPool
  private let slabLength: Int
  private let handover: Handover
  private let clock: EngineClock
  private var assembler: PieceAssembler
  private var received: Int64 = 0
  private let room: Mutex<Room>

  private struct Room {
    /// The number of slabs that may still be taken.
    var free: Int
    /// Whether the request waits for a slab.
    var isAwaited = false
  }

  /// Creates a handler; `sizes` limits its memory, `beginning` are bytes of the first piece.
  init(
    _ number: Int, _ pieces: [Piece], beginning: [UInt8] = [], question: RangeQuestion,
    sizes: SlabSizes, slabs: SlabPool, handover: Handover, clock: EngineClock
  ) {
    self.number = number
    self.question = question
    self.slabs = slabs
    self.handover = handover
    self.clock = clock
    slabLength = sizes.length
    assembler = PieceAssembler(pieces, beginning: beginning)
    room = Mutex(Room(free: sizes.count))
  }

  // MARK: The loop's thread

  func receive(_ head: HTTPHead) -> TransferFault? {
    do {
      assembler.begin(try RangeAnswer.judge(head, question, now: clock.now()))
      return nil
    } catch {
      return error
    }
  }

  func receive(_ body: UnsafeRawBufferPointer) -> BodyAnswer {
    let answer = assembler.take(body, room: takeSlab, full: handOver)
    if case .wait = answer { return answer }
    received += Int64(body.count)
    return answer
  }

  func idle() -> TransferFault? {
    // Complete pieces need not be requested again.
    if let slab = assembler.handOverPieces() { handOver(slab) }
    handover.add(.idle(request: number, assembler.partial))
    return nil
  }

  func end(_ end: ExchangeEnd) {
    if let slab = assembler.endBody() { handOver(slab) }
    handover.add(.ended(request: number, end, received: received))
  }

  private func takeSlab(_ capacity: Int) -> Slab? {
    let mayTake = room.withLock { room in
      room.isAwaited = room.free == 0
      if room.free > 0 { room.free -= 1 }
      return !room.isAwaited
    }
    return mayTake ? slabs.take(capacity: max(capacity, slabLength)) : nil
  }

  private func handOver(_ slab: Slab) { handover.add(.pieces(request: number, slab)) }

  // MARK: The worker's thread

  /// Returns a slab; the result is true if the request waits for it and must be resumed.
  func giveBack(_ slab: Slab) -> Bool {
    slabs.giveBack(slab)
    return room.withLock { room in
      room.free += 1
      defer { room.isAwaited = false }
      return room.isAwaited
    }
  }
}

/// Splits a body into pieces: skips unneeded bytes, and fills slabs with verified pieces.
///
/// It does not use the network or threads. Callers pass slabs in and take them out.
struct PieceAssembler {
  /// The wanted pieces, sorted by offset.
  let pieces: [Piece]
  /// The offset of the next byte of the body.
  private var cursor: Int64 = 0
  private var answer = RangeAnswer(start: 0, end: 0)
  /// The index of the current or next piece.
  private var next = 0
  /// The bytes of that piece in the slab, after its complete pieces.
  private var filled = 0
  private var slab: Slab?
  /// The bytes of a chunk that were taken before a wait; the whole chunk is passed again.
  private var taken = 0
  /// The bytes of the next piece from another answer, or from a slab that was handed over.
  ///
  /// Empty once they are in the slab.
  private var beginning: [UInt8]

  /// Creates an assembler; `beginning` are the first bytes of the first piece, from another answer.
  init(_ pieces: [Piece], beginning: [UInt8] = []) {
    self.pieces = pieces
    self.beginning = beginning
  }

  /// Starts a body with the range of `answer`; earlier pieces are not in it.
  mutating func begin(_ answer: RangeAnswer) {
    self.answer = answer
    cursor = answer.start
    if let first = pieces.first, answer.start == first.offset + Int64(beginning.count) {
      next = 0
    } else {
      beginning = []
      next = pieces.firstIndex { $0.offset >= answer.start } ?? pieces.count
    }
  }

  /// The incomplete piece and its bytes.
  ///
  /// Nil without an incomplete piece, or if it has too many bytes.
  var partial: PartialPiece? {
    if filled == 0, !beginning.isEmpty { return PartialPiece(index: next, bytes: beginning) }
    guard let slab, (1...PartialPiece.limit).contains(filled) else { return nil }
    return PartialPiece(
      index: next, bytes: Array(slab.memory[slab.used..<(slab.used + filled)]))
  }

  /// Takes a chunk of the body.
  ///
  /// `room` returns an empty slab with the given capacity, or nil if no slab is free. Then the
  /// result is `wait`, and the chunk must be passed again. `full` gets slabs with complete pieces.
  mutating func take(
    _ chunk: UnsafeRawBufferPointer, room: (Int) -> Slab?, full: (Slab) -> Void
  ) -> BodyAnswer {
    var rest = chunk[min(taken, chunk.count)...]
    let start = rest.startIndex
    taken -= start
    while !rest.isEmpty, next < pieces.count {
      let piece = pieces[next]
      if cursor < piece.offset {
        advance(&rest, Int(min(Int64(rest.count), piece.offset - cursor)))
        continue
      }
      guard let slab = slab(for: piece, room, full) else {
        taken += rest.startIndex
        return .wait
      }
      if !beginning.isEmpty { fillBeginning(of: slab) }
      fill(slab, piece, &rest)
    }
    // Bytes after the last piece. They count, to detect a body that does not end.
    cursor += Int64(rest.count)
    return finish(full)
  }

  private mutating func fillBeginning(of slab: Slab) {
    beginning.withUnsafeBytes { slab.memory.copyMemory(from: $0) }
    filled = beginning.count
    beginning = []
  }

  private mutating func fill(
    _ slab: Slab, _ piece: Piece, _ rest: inout Slice<UnsafeRawBufferPointer>
  ) {
    let count = min(rest.count, piece.length - filled)
    let place = slab.used + filled
    UnsafeMutableRawBufferPointer(rebasing: slab.memory[place..<(place + count)])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
    filled += count
    advance(&rest, count)
    if filled == piece.length {
      // Verify every second piece here, so that this thread and the worker share the work. A file
      // of one piece is verified by its worker, since this thread serves all files.
      let isMine = !next.isMultiple(of: 2)
      let bytes = UnsafeRawBufferPointer(
        rebasing: slab.memory[slab.used..<(slab.used + filled)])
      // If libcrypto fails here, the worker tries it and throws.
      slab.isValid.append(isMine ? (try? piece.matches(bytes)) : nil)
      slab.used += filled
      filled = 0
      next += 1
      slab.pieces = slab.pieces.lowerBound..<next
    }
  }

  private mutating func advance(_ rest: inout Slice<UnsafeRawBufferPointer>, _ count: Int) {
    rest = rest.dropFirst(count)
    cursor += Int64(count)
  }

  private mutating func slab(for piece: Piece, _ room: (Int) -> Slab?, _ full: (Slab) -> Void)
    -> Slab?
  {
    if let slab {
      if slab.memory.count - slab.used >= piece.length { return slab }
      handOver(full)
    }
    slab = room(piece.length)
    slab?.pieces = next..<next
    return slab
  }

  /// Returns the slab with the complete pieces; nil if none is complete.
  ///
  /// The bytes of the next piece are kept outside of slabs, since there may be no other slab.
  mutating func handOverPieces() -> Slab? {
    guard let slab, !slab.pieces.isEmpty else { return nil }
    beginning = Array(slab.memory[slab.used..<(slab.used + filled)])
    filled = 0
    self.slab = nil
    return slab
  }

  private mutating func handOver(_ full: (Slab) -> Void) {
    if let slab = slab.take() { full(slab) }
  }

  /// Returns `complete` after the last piece, unless the end of the body is near.
  ///
  /// The rest of the body is worth reading then, since it keeps the connection alive.
  private mutating func finish(_ full: (Slab) -> Void) -> BodyAnswer {
    guard next == pieces.count else { return .taken }
    // The end of the answer follows at once and delivers the slab: one wake-up instead of two.
    if answer.isEndPromised, cursor == answer.end { return .taken }
    handOver(full)
    return answer.end - cursor <= 64 << 10 && cursor <= answer.end ? .taken : .complete
  }

  /// Ends the body, and returns the slab with the remaining complete pieces, or nil.
  mutating func endBody() -> Slab? {
    filled = 0
    defer { slab = nil }
    return slab.flatMap { $0.pieces.isEmpty ? nil : $0 }
  }
}

/// The bytes of an incomplete piece.
struct PartialPiece: Sendable {
  /// The maximum number of bytes that are kept, since they are copied.
  static let limit = 4 << 20

  /// The index of the piece in the request.
  let index: Int
  let bytes: [UInt8]
}

/// The request that an answer must match.
package struct RangeQuestion: Hashable, Sendable {
  /// The requested range.
  package var range: Range<Int64>
  /// Whether the whole file was requested, without a `Range` header.
  package var isWhole: Bool
  /// The signed length of the whole file, in bytes.
  package var fileLength: Int64
  /// The validator in the `If-Range` header, or nil without that header.
  package var validator: String?

  package init(
    range: Range<Int64>, isWhole: Bool, fileLength: Int64, validator: String? = nil
  ) {
    self.range = range
    self.isWhole = isWhole
    self.fileLength = fileLength
    self.validator = validator
  }
}

/// The range of an answer's body in the file.
///
/// Pure. The digest decides about the bytes. This check detects an answer that cannot match the
/// request before its body is read, and determines where its bytes belong.
package struct RangeAnswer: Hashable, Sendable {
  /// The offset of the first byte of the body.
  package let start: Int64
  /// The offset after the last byte of the body.
  package let end: Int64
  /// Whether the server has declared the end, so that the answer ends with that byte.
  var isEndPromised = false

  /// Returns the place of the body if `head` answers `question`.
  ///
  /// See RFC 9110 §14 and §15.
  package static func judge(_ head: HTTPHead, _ question: RangeQuestion, now: Date)
    throws(TransferFault) -> RangeAnswer
  {
    let isAccepted = [200, 203, 206].contains(head.status)
    if isAccepted, let encoding = head.encoding { throw TransferFault(.encoded(encoding)) }
    switch head.status {
    case 200, 203: return try wholeBody(head, question)
    case 206: return try part(head, question)
    case 416: throw refused(head, question)
    default: throw TransferFault(statusOf: head, now: now)
    }
  }

  private static func wholeBody(_ head: HTTPHead, _ question: RangeQuestion) throws(TransferFault)
    -> RangeAnswer
  {
    if !question.isWhole, let sent = question.validator, let now = Validator.strong(head),
      now != sent
    {
      throw TransferFault(.otherValidator)
    }
    // Some servers send every file with the type of a web page, so the length decides.
    let mayFit = head.contentLength.map { $0 == question.fileLength } ?? question.isWhole
    if head.isPage, !mayFit { throw TransferFault(.unexpectedType("text/html")) }
    if let length = head.contentLength, length != question.fileLength {
      throw TransferFault(.wrongLength(length))
    }
    if !question.isWhole { throw TransferFault(.rangeIgnored) }
    return RangeAnswer(
      start: 0, end: question.fileLength, isEndPromised: head.contentLength != nil)
  }

  private static func part(_ head: HTTPHead, _ question: RangeQuestion) throws(TransferFault)
    -> RangeAnswer
  {
    guard let text = head["content-range"], let range = ContentRange(text), let bytes = range.bytes
    else { throw TransferFault(.rangeUnclear, head["content-range"] ?? "No Content-Range") }
    if let total = range.total, total != question.fileLength {
      throw TransferFault(.wrongLength(total), text)
    }
    if let length = head.contentLength, length != Int64(bytes.count) {
      throw TransferFault(.rangeUnclear, "\(text), but \(length) bytes")
    }
    guard bytes.overlaps(question.range), bytes.upperBound <= question.fileLength else {
      throw TransferFault(.rangeElsewhere, text)
    }
    return RangeAnswer(
      start: bytes.lowerBound, end: bytes.upperBound, isEndPromised: head.contentLength != nil)
  }

  /// Returns the fault for status 416: another file, or a server without ranges.
  private static func refused(_ head: HTTPHead, _ question: RangeQuestion) -> TransferFault {
    let text = head["content-range"] ?? "No Content-Range"
    if let total = ContentRange(text)?.total, total != question.fileLength {
      return TransferFault(.wrongLength(total), text)
    }
    return question.isWhole ? TransferFault(.status(416)) : TransferFault(.rangeRefused, text)
  }
}

/// Identifies a version of a resource, byte for byte (RFC 9110 §8.8); pure.
enum Validator {
  /// Returns a strong entity tag, or a strong modification date, or nil.
  ///
  /// A date is strong if it is at least a minute before the date of the answer. A validator that
  /// cannot be sent back as one header is ignored.
  static func strong(_ head: HTTPHead) -> String? {
    if let tag = head["etag"] {
      let isStrong = tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.utf8.count >= 2
      let isSendable = tag.utf8.count <= 1024 && HTTPHeader("If-Range", tag).isWellFormed
      return isStrong && isSendable ? tag : nil
    }
    guard let text = head["last-modified"], text.utf8.count <= 64,
      let modified = HTTPDate.seconds(text), let sent = head["date"].flatMap(HTTPDate.seconds),
      sent - modified >= 60
    else { return nil }
    return text
  }
}
