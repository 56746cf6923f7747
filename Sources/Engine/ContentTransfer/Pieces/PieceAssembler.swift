/// Sorts a body's bytes into pieces: skips what is not wanted, fills slabs with whole pieces and
/// checks each against its digest.
///
/// Knows neither network nor threads: slabs are handed in and out.
struct PieceAssembler {
  /// The wanted pieces by offset.
  let pieces: [Piece]
  /// The offset of the body's next byte.
  private var cursor: Int64 = 0
  /// The offset at which the body ends, and whether the server promises that.
  private var end: Int64 = 0
  private var isEndPromised = false
  /// The piece that is filled or comes next.
  private var next = 0
  /// Bytes of that piece that are in the slab, behind its whole pieces.
  private var filled = 0
  private var slab: Slab?
  /// Bytes of a chunk that were taken before it had to wait; the chunk comes again as a whole.
  private var taken = 0
  /// Bytes of the first piece that came with another answer; empty once they are in the slab.
  private var beginning: [UInt8]

  /// `beginning` are bytes of the first piece that came before.
  init(_ pieces: [Piece], beginning: [UInt8] = []) {
    self.pieces = pieces
    self.beginning = beginning
  }

  /// The body begins and ends at these offsets; pieces before it are not in it.
  mutating func begin(_ answer: RangeAnswer) {
    cursor = answer.start
    end = answer.end
    isEndPromised = answer.isEndPromised
    if let first = pieces.first, answer.start == first.offset + Int64(beginning.count) {
      next = 0
    } else {
      beginning = []
      next = pieces.firstIndex { $0.offset >= answer.start } ?? pieces.count
    }
  }

  /// Bytes of a piece that is not whole; they are lost when the body ends here.
  var partialBytes: Int { filled }

  /// The piece that has begun to come, with its bytes so far; nil for none, or for many bytes.
  var partial: PartialPiece? {
    if filled == 0, !beginning.isEmpty { return PartialPiece(index: 0, bytes: beginning) }
    guard let slab, (1...PartialPiece.limit).contains(filled) else { return nil }
    return PartialPiece(
      index: next, bytes: Array(slab.memory[slab.used..<(slab.used + filled)]))
  }

  /// Takes a chunk of the body.
  ///
  /// `room` gives an empty slab of a capacity, or nil when there is none now; then the answer is
  /// `wait`, and the chunk must come again. `full` gets slabs with whole pieces.
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
    // Whatever follows the last piece; it shows a body that does not end.
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
      // Every other one, so that this thread and the worker's have as much to do; of small files,
      // which are one piece, all are left to their workers, since this thread serves them all.
      let isMine = !next.isMultiple(of: 2)
      slab.isRight.append(
        isMine ? piece.isDigest(of: slab.memory[slab.used..<(slab.used + filled)]) : nil)
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

  /// The slab that `piece` fits in.
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

  /// The slab with the whole pieces that came, while the bytes of the next one move to another
  /// slab.
  ///
  /// Nil when there is none, or no room for another one.
  mutating func handOverPieces(room: (Int) -> Slab?) -> Slab? {
    guard let slab, !slab.pieces.isEmpty else { return nil }
    guard filled > 0 else {
      self.slab = nil
      return slab
    }
    guard let other = room(pieces[next].length) else { return nil }
    other.memory.copyMemory(
      from: UnsafeRawBufferPointer(rebasing: slab.memory[slab.used..<(slab.used + filled)]))
    other.pieces = next..<next
    self.slab = other
    return slab
  }

  private mutating func handOver(_ full: (Slab) -> Void) {
    guard let slab else { return }
    self.slab = nil
    full(slab)
  }

  /// Nothing more is needed once every piece is there, but the end of a body that is near is worth
  /// reading, since the connection lives on then.
  private mutating func finish(_ full: (Slab) -> Void) -> BodyAnswer {
    guard next == pieces.count else { return .taken }
    // The answer's end, which follows at once, hands the slab over: one wake-up instead of two.
    if isEndPromised, cursor == end { return .taken }
    handOver(full)
    return end - cursor <= 64 << 10 && cursor <= end ? .taken : .complete
  }

  /// The body is over: the slab with the whole pieces that are left; nil when there are none.
  mutating func endBody() -> Slab? {
    filled = 0
    defer { slab = nil }
    return slab.flatMap { $0.pieces.isEmpty ? nil : $0 }
  }
}

/// Bytes of a piece that is not whole.
struct PartialPiece: Sendable {
  /// More are not kept, since they are copied.
  static let limit = 4 << 20

  /// The piece, by its place in what the request wants.
  let index: Int
  let bytes: [UInt8]
}
