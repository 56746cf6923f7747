/// Sorts a body's bytes into pieces: skips what is not wanted, fills slabs with whole pieces and
/// checks each against its digest.
///
/// Knows neither network nor threads: slabs are handed in and out.
struct PieceAssembler {
  /// The wanted pieces by offset.
  let pieces: [Piece]
  /// The offset of the body's next byte.
  private var cursor: Int64 = 0
  /// The offset at which the body ends, as the server promises.
  private var end: Int64 = 0
  /// The piece that is filled or comes next.
  private var next = 0
  /// Bytes of that piece that are in the slab, behind its whole pieces.
  private var filled = 0
  private var slab: Slab?
  /// Bytes of a chunk that were taken before it had to wait; the chunk comes again as a whole.
  private var taken = 0

  init(_ pieces: [Piece]) { self.pieces = pieces }

  /// The body begins and ends at these offsets; pieces before it are not in it.
  mutating func begin(_ answer: RangeAnswer) {
    cursor = answer.start
    end = answer.end
    next = pieces.firstIndex { $0.offset >= answer.start } ?? pieces.count
  }

  /// Bytes of a piece that is not whole; they are lost when the body ends here.
  var partialBytes: Int { filled }

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
      fill(slab, piece, &rest)
    }
    // Whatever follows the last piece; it shows a body that does not end.
    cursor += Int64(rest.count)
    return finish(full)
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
      // Every other one, so that this thread and the worker's have as much to do.
      let isMine = next.isMultiple(of: 2)
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

  private mutating func handOver(_ full: (Slab) -> Void) {
    guard let slab else { return }
    self.slab = nil
    full(slab)
  }

  /// Nothing more is needed once every piece is there, but the end of a body that is near is worth
  /// reading, since the connection lives on then.
  private mutating func finish(_ full: (Slab) -> Void) -> BodyAnswer {
    guard next == pieces.count else { return .taken }
    handOver(full)
    return end - cursor <= 64 << 10 && cursor <= end ? .taken : .complete
  }

  /// The body is over: hands out the whole pieces that are left.
  mutating func endBody(_ full: (Slab) -> Void) {
    filled = 0
    handOver(full)
  }
}
